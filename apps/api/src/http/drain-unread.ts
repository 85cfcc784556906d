import type { IncomingMessage, ServerResponse } from 'node:http'

const drainMs = 10_000
const drainBytes = 64 * 1024 * 1024

/**
 * A request may be answered before its body is whole: refused for its size, its token, or for want of room. What is still to come is
 * then read and dropped, so that the answer arrives, and the next request on the connection as well: cut with bytes unread, a connection
 * is reset, and a client that has sent its next request on it cannot tell whether that was taken. Whoever goes on for more than 10 s or
 * 64 MiB is cut.
 */
export function drainUnread(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    // All of it has come, and been read.
    if (request.destroyed || (request.complete && request.readableLength === 0)) return
    const { socket } = request
    const cut = (): void => socket.destroySoon()
    const timer = setTimeout(cut, drainMs).unref()
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > drainBytes) cut()
    })
    request.once('close', () => clearTimeout(timer))
    request.resume()
  })
}
