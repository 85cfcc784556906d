import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type OpenConnections = {
  /** Whether it has no request under way. */
  isIdle(socket: Socket): boolean
  /** Cuts those that have no request under way, those that never sent one too. */
  closeIdle(): void
  /** Cuts all. */
  closeAll(): void
}

/**
 * Keeps count of an HTTP server's connections and the requests on them. Node's own `closeIdleConnections` leaves one alone that is
 * open and has not sent a whole request's head yet, for as long as its client likes.
 */
export function trackConnections(server: EventEmitter): OpenConnections {
  const underWay = new Map<Socket, number>()
  const change = (socket: Socket, by: number): void => {
    const count = underWay.get(socket)
    // Not there any more: it closed before its answer.
    if (count !== undefined) underWay.set(socket, count + by)
  }

  server.on('connection', (socket: Socket) => {
    underWay.set(socket, 0)
    socket.once('close', () => underWay.delete(socket))
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    change(socket, 1)
    // Once the answer has been handed to the system, or the connection is gone.
    response.once('close', () => change(socket, -1))
  })

  return {
    isIdle: (socket) => (underWay.get(socket) ?? 0) === 0,
    closeIdle() {
      for (const [socket, count] of underWay) if (count === 0) socket.destroy()
    },
    closeAll() {
      for (const socket of underWay.keys()) socket.destroy()
    },
  }
}
