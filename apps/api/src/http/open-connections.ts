import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type OpenConnections = {
  /**
   * `idle`: no request is under way. `reading`: one is not whole yet, and nothing has been answered to it. `answering`: its
   * answer is under way, or will be.
   */
  stateOf(socket: Socket): 'idle' | 'reading' | 'answering'
  /** Calls once no request is under way on it. Not at all when it closes before. */
  onceIdle(socket: Socket, atIdle: () => void): void
  /** Cuts those that have no request under way, those that never sent one too. */
  closeIdle(): void
  /** Cuts all. */
  closeAll(): void
}

type Connection = {
  underWay: number
  latest: { request: IncomingMessage; response: ServerResponse } | null
  atIdle: (() => void) | null
}

/**
 * Keeps count of an HTTP server's connections and the requests on them. Node's own `closeIdleConnections` leaves one alone that is
 * open and has not sent a whole request's head yet, for as long as its client likes.
 */
export function trackConnections(server: EventEmitter): OpenConnections {
  const open = new Map<Socket, Connection>()

  server.on('connection', (socket: Socket) => {
    open.set(socket, { underWay: 0, latest: null, atIdle: null })
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(request.socket)
    if (connection === undefined) return
    connection.underWay++
    connection.latest = { request, response }
    // Once the answer has been handed to the system, or the connection is gone.
    response.once('close', () => {
      if (--connection.underWay === 0) connection.atIdle?.()
    })
  })

  return {
    stateOf(socket) {
      const connection = open.get(socket)
      if (connection === undefined || connection.underWay === 0) return 'idle'
      const { request, response } = connection.latest!
      return request.complete || response.headersSent || connection.underWay > 1 ? 'answering' : 'reading'
    },
    onceIdle(socket, atIdle) {
      const connection = open.get(socket)
      if (connection !== undefined) connection.atIdle = atIdle
    },
    closeIdle() {
      for (const [socket, { underWay }] of open) if (underWay === 0) socket.destroy()
    },
    closeAll() {
      for (const socket of open.keys()) socket.destroy()
    },
  }
}
