import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { Client } from 'undici'
import type { Dial, DialProgress, Target } from './connector.ts'

/**
 * One connection to one origin, which carries one request at a time. undici's Client does HTTP on it, and dials again by
 * itself if it finds the connection closed before the request was written.
 */
export type Connection = DialProgress & {
  readonly origin: string
  readonly client: Client
  /** What is under way until there is a socket: the socket itself, or a tunnel that will give one. */
  dialing: ReturnType<Dial>
  socket: Socket | null
  /** On the clock of `performance.now()`. */
  connectedAt: number
  /** So many more it may dial: one, and one more after each answer, for a socket that went stale while it was idle. */
  dialsLeft: number
  /** Why the last socket ended. */
  lost: Error | null
  /** Complete answers on this socket: with none, the socket is new. */
  answers: number
  state: 'busy' | 'idle' | 'gone'
  /** Asked after each piece of at most 64 KiB that was read: it may have had enough. */
  reader: { checkFlood(): void } | null
}

export type Connections = {
  /** An idle connection that is young enough and still open, else a new one; `fresh` asks for a new one. */
  acquire(target: Target, fresh: boolean): Connection
  /** Gives back a connection whose answer was read to its end. */
  release(connection: Connection): void
  /** Closes a connection at once, connecting or connected, and whatever runs on it. */
  discard(connection: Connection): void
  /** Connections that exist, busy and idle. */
  count(): number
  /** Closes all; returns when they are closed. */
  stop(): Promise<void>
}

export type ConnectionsOptions = {
  dial: Dial
  /** How long an idle connection is kept. A receiver's `keep-alive` hint can shorten it, never lengthen it. */
  keepAliveMs: number
  /** A connection older than this is not used again, so that a change in DNS is noticed. */
  maxAgeMs: number
  /** Idle connections kept over all origins; beyond it the longest idle goes. */
  maxIdle: number
  onInternalError: (error: Error) => void
}

/** Before a request was written, though the connection was a new one. In place of undici's own error, for which it would dial again. */
class EndedEarlyError extends Error {}

/** What ended a connection, in place of the error that says that it ended early. */
export const causeOf = (error: unknown): unknown => (error instanceof EndedEarlyError ? (error.cause ?? error) : error)

const ignore = (): void => {}

/**
 * The connections to all origins. There is no limit per origin and no queue: a caller has at most as many connections as it
 * has requests in flight, which its own limits bound. An origin without connections leaves nothing behind.
 *
 * In place of undici's Pool, which does not tell which connection a request will use (needed to tell a stale one), can let
 * go of a request that still connects only through a private hook, and looks through all its connections for a free one.
 */
export function createConnections(options: ConnectionsOptions): Connections {
  const { dial, keepAliveMs, maxAgeMs, maxIdle, onInternalError } = options
  const all = new Set<Connection>()
  /** Longest idle first. */
  const idle = new Set<Connection>()
  /** Last used first out: the others then age and close. */
  const idleByOrigin = new Map<string, Connection[]>()

  const open = (target: Target): Connection => {
    const client = new Client(target.origin, {
      connect: (_, done) => {
        if (connection.dialsLeft <= 0) {
          // A receiver that sends or closes before it is asked would have undici dial, and dial again, until the deadline.
          setImmediate(() => done(new EndedEarlyError('the connection ended early', { cause: connection.lost }), null))
          return
        }
        connection.dialsLeft--
        connection.answers = 0
        connection.socket = null
        connection.dialing = dial(target, connection, (error, socket) => {
          connection.dialing = null
          connection.socket = socket
          connection.connectedAt = performance.now()
          if (socket) {
            done(null, socket)
            // After undici's own, which reads.
            socket.on('readable', onReadable)
          } else done(error ?? new Error('no socket'), null)
        })
      },
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // Never reached: the reader has enough long before. (Past it, undici makes an error for each further header it has read,
      // at some 20 us: thousands, from one receiver that sends headers without end.)
      maxHeaderSize: 1024 * 1024,
    })
    const onReadable = (): void => connection.reader?.checkFlood()
    const connection: Connection = {
      origin: target.origin,
      client,
      phase: 'connect',
      dialing: null,
      socket: null,
      connectedAt: 0,
      dialsLeft: 1,
      lost: null,
      answers: 0,
      state: 'busy',
      reader: null,
    }
    // While busy, undici tells the request (or dials again, if nothing of it was written yet).
    client.on('disconnect', (_, __, error) => {
      connection.lost = error
      if (connection.state === 'idle') discard(connection)
    })
    // undici emits this when an assertion of its own fails; without a listener it would end the process.
    const emitter: EventEmitter = client
    emitter.on('error', onInternalError)
    all.add(connection)
    return connection
  }

  const takeIdle = (origin: string): Connection | undefined => {
    const stack = idleByOrigin.get(origin)
    const connection = stack?.pop()
    if (stack?.length === 0) idleByOrigin.delete(origin)
    if (connection) idle.delete(connection)
    return connection
  }

  const forgetIdle = (connection: Connection): void => {
    idle.delete(connection)
    const stack = idleByOrigin.get(connection.origin)
    const index = stack?.indexOf(connection) ?? -1
    if (index >= 0) stack?.splice(index, 1)
    if (stack?.length === 0) idleByOrigin.delete(connection.origin)
  }

  const acquire = (target: Target, fresh: boolean): Connection => {
    if (fresh) return open(target)
    for (let connection = takeIdle(target.origin); connection; connection = takeIdle(target.origin)) {
      connection.state = 'busy'
      if (connection.socket?.destroyed === false && performance.now() - connection.connectedAt < maxAgeMs)
        return connection
      discard(connection)
    }
    return open(target)
  }

  const release = (connection: Connection): void => {
    if (connection.state !== 'busy') return
    connection.state = 'idle'
    connection.dialsLeft = 1
    idle.add(connection)
    const stack = idleByOrigin.get(connection.origin)
    if (stack) stack.push(connection)
    else idleByOrigin.set(connection.origin, [connection])
    if (idle.size > maxIdle) {
      for (const longest of idle) {
        discard(longest)
        break
      }
    }
  }

  const discard = (connection: Connection): void => {
    if (connection.state === 'gone') return
    if (connection.state === 'idle') forgetIdle(connection)
    connection.state = 'gone'
    all.delete(connection)
    connection.client.destroy(null, ignore)
    // undici does not know a socket that is still connecting.
    connection.dialing?.destroy()
    connection.socket?.destroy()
  }

  const stop = async (): Promise<void> => {
    const closed = [...all].map(({ client, socket, dialing }) =>
      client.destroy().then(() => closing(socket ?? dialing)),
    )
    for (const connection of [...all]) discard(connection)
    await Promise.all(closed)
  }

  return { acquire, release, discard, count: () => all.size, stop }
}

const closing = (socket: ReturnType<Dial>): Promise<void> =>
  new Promise((resolve) => {
    if (!(socket instanceof Socket) || socket.closed) return resolve()
    socket.once('close', () => resolve())
    socket.destroy()
  })
