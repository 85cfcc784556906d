import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiProblem } from './api-problem.ts'
import type { OpenConnections } from './open-connections.ts'
import type { ProblemCode } from './problem-catalogue.ts'
import { securityHeaders } from './security-headers.ts'

/** How long whoever sent what is no request may go on sending, before the connection is cut. */
const lingerMs = 1_000

const codes: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/**
 * Answers what the HTTP parser refuses as everything else is answered, where Node would send a bare status. What stands behind
 * a whole request is refused only once that one's answer has gone out, and never within it.
 */
export function answerClientErrors(
  server: Pick<Server, 'on'>,
  connections: Pick<OpenConnections, 'stateOf' | 'onceIdle'>,
): void {
  const refused = new WeakSet<Socket>()
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket
    if (refused.has(socket)) return
    refused.add(socket)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
    } else if (connections.stateOf(socket) === 'answering') {
      connections.onceIdle(socket, () => end(socket))
    } else {
      end(socket, written(new ApiProblem(codes[error.code ?? ''] ?? 'malformed_request')))
    }
  })
}

/** Ended and not cut: a connection that is cut with bytes unread is reset, and its answer may be lost. */
function end(socket: Socket, answer = ''): void {
  socket.end(answer)
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

function written(problem: ApiProblem): string {
  const body = JSON.stringify(problem.toDocument())
  const headers = {
    ...securityHeaders,
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`
}
