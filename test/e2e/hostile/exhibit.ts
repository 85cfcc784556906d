import type { Socket } from 'node:net'

/** A receiver that does something that no receiver should. */
export type Exhibit = {
  name: string
  /** What each attempt there comes to: the status and whether the body was cut, or the error's code and phase. */
  expected: RegExp
  /** Called with each connection, before a byte of it is read. Its errors are listened to already. */
  serve: (socket: Socket) => void
  scheme?: 'http' | 'https'
  /** The server speaks TLS, with this. Absent: the bytes are the exhibit's own, also where the scheme is https. */
  tls?: import('node:tls').TlsOptions
}

/** Calls `then` when a whole request has come: a head and as many bytes as its content-length says. Again for the next one. */
export function onRequest(socket: Socket, then: (count: number) => void): void {
  let received = Buffer.alloc(0)
  let count = 0
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    while (true) {
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/^content-length: (\d+)/im.exec(received.subarray(0, head).toString('latin1'))?.[1] ?? 0)
      if (received.length < head + 4 + length) return
      received = received.subarray(head + 4 + length)
      then(++count)
    }
  })
}

/** Reads the request, and answers these bytes. */
export const answer =
  (bytes: string | Buffer) =>
  (socket: Socket): void =>
    onRequest(socket, () => void socket.write(bytes))

/** Reads the request, answers `start`, and goes on with `part`, again and again, until the other side goes away. */
export const drip =
  (start: string | Buffer, part: string | Buffer, everyMs = 100) =>
  (socket: Socket): void =>
    onRequest(socket, () => {
      if (start.length > 0) socket.write(start)
      const timer = setInterval(() => socket.write(part), everyMs)
      socket.once('close', () => clearInterval(timer))
    })

/** The same as fast as the other side reads. */
export const flood =
  (start: string | Buffer, part: string | Buffer) =>
  (socket: Socket): void =>
    onRequest(socket, () => {
      if (start.length > 0) socket.write(start)
      const size = Math.max(1, Math.floor(65_536 / part.length))
      const block = Buffer.concat(Array.from({ length: size }, () => Buffer.from(part)))
      const go = (): void => {
        while (!socket.destroyed && socket.write(block));
      }
      socket.on('drain', go)
      go()
    })

export const head = (status: number | string, ...lines: string[]): string =>
  [`HTTP/1.1 ${status} X`, ...lines, '', ''].join('\r\n')

export const ok = `${head(200, 'content-length: 2')}ok`
