import { type Exhibit, head, ok, onRequest } from './exhibit.ts'

const gone = /^connection_(closed|reset) in (request|headers)$/
/** It may be seen before the connection is. */
const atOnce = /^(connection_(closed|reset) in (request|headers)|connect_reset in connect)$/
const afterAnswer = /^200( truncated)?$/
/** The next attempt may use the connection before its end has been read: then it is tried again at once. */
const stale = /^(200|connection_(closed|reset) in (request|headers))$/

/** Connections that end, stall or half end, at each moment. */
export const badConnections: Exhibit[] = [
  { name: 'says nothing', expected: /^timeout in headers$/, serve: (socket) => void socket.resume() },
  { name: 'reads nothing', expected: /^timeout in (request|headers)$/, serve: (socket) => void socket.pause() },
  { name: 'closes at once', expected: atOnce, serve: (socket) => void socket.destroy() },
  { name: 'resets at once', expected: atOnce, serve: (socket) => void socket.resetAndDestroy() },
  { name: 'half closes at once, and reads on', expected: atOnce, serve: (socket) => void socket.resume().end() },
  {
    name: 'closes in the middle of the request',
    expected: gone,
    serve: (socket) => void socket.once('data', () => socket.destroy()),
  },
  {
    name: 'resets in the middle of the request',
    expected: gone,
    serve: (socket) => void socket.once('data', () => socket.resetAndDestroy()),
  },
  { name: 'closes after the request', expected: gone, serve: (socket) => onRequest(socket, () => void socket.end()) },
  {
    name: 'resets after the request',
    expected: gone,
    serve: (socket) => onRequest(socket, () => void socket.resetAndDestroy()),
  },
  {
    name: 'resets in the middle of the status line',
    expected: gone,
    serve: (socket) =>
      onRequest(socket, () => void socket.write('HTTP/1.1 2', () => later(() => socket.resetAndDestroy()))),
  },
  {
    name: 'closes in the middle of the headers',
    expected: gone,
    serve: (socket) => onRequest(socket, () => void socket.end('HTTP/1.1 200 OK\r\nx-a: ')),
  },
  {
    name: 'resets in the middle of the body',
    expected: afterAnswer,
    serve: (socket) =>
      onRequest(socket, () => {
        socket.write(`${head(200, 'content-length: 100')}part`, () => later(() => socket.resetAndDestroy()))
      }),
  },
  {
    name: 'closes in the middle of a chunk',
    expected: /^200 truncated$/,
    serve: (socket) => onRequest(socket, () => void socket.end(`${head(200, 'transfer-encoding: chunked')}ff\r\npart`)),
  },
  {
    name: 'resets behind a whole answer',
    expected: stale,
    serve: (socket) => onRequest(socket, () => void socket.write(ok, () => later(() => socket.resetAndDestroy()))),
  },
  {
    name: 'closes behind a large body',
    expected: /^200 truncated$/,
    serve: (socket) =>
      onRequest(socket, () => {
        socket.end(head(200, 'content-length: 1000000', 'connection: close') + 'b'.repeat(1_000_000))
      }),
  },
  {
    name: 'answers before the request, and reads nothing',
    expected: /^(413|response_invalid in (request|headers))$/,
    serve: (socket) => void socket.pause().write(head(413, 'connection: close', 'content-length: 0')),
  },
  {
    name: 'answers before the request, and goes away',
    expected: /^(413|(connection_reset|connection_closed|response_invalid) in (request|headers))$/,
    serve: (socket) => void socket.end(head(413, 'connection: close', 'content-length: 0')),
  },
  {
    name: 'half closes behind the answer, and stays',
    expected: stale,
    serve: (socket) => onRequest(socket, () => void socket.end(ok)),
  },
  {
    name: 'answers once, then only resets',
    expected: stale,
    serve: (socket) =>
      onRequest(socket, (count) => {
        if (count === 1) socket.write(ok)
        else socket.resetAndDestroy()
      }),
  },
  {
    name: 'answers twice',
    expected: /^200$/,
    serve: (socket) => onRequest(socket, () => void socket.write(ok + head(500, 'content-length: 0'))),
  },
]

/** A reset drops what the other side has not read yet: leave it the time. */
const later = (then: () => void): void => void setTimeout(then, 50)
