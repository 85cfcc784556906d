import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { AttemptPhase } from '@posthorn/core'
import type { Dispatcher } from 'undici'
import { type Connection, type Connections, causeOf } from './connections.ts'
import type { Target } from './connector.ts'
import { describeError, isClosedByPeer } from './describe-error.ts'
import type { AttemptError, Outcome, SendRequest } from './outcome.ts'
import { boundHeaders, maxHeadBytes, maxKeptBytes, maxReadBytes, maxWireBytes } from './response-capture.ts'
import type { SignalWatch } from './signal-watch.ts'

export type AttemptDeps = {
  connections: Connections
  signals: SignalWatch
  /** Attempts that have not ended. */
  running: Set<Attempt>
  onInternalError: (error: unknown) => void
}

const nothing = Buffer.alloc(0)

/**
 * One request on one connection, from dispatch to outcome; undici calls its `on...` methods. It settles exactly once: on the
 * answer's end, on an error, at the deadline, at the caller's abort, or when enough of the body was read. Once a final
 * status is in, it decides the outcome, and whatever happens later only cuts the body.
 *
 * A class, for its methods are shared: closures would be made anew for each request.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #deps: AttemptDeps
  readonly #request: SendRequest
  readonly #target: Target
  readonly #resolve: (outcome: Outcome) => void
  readonly #startedAt = new Date()
  readonly #startedMs = performance.now()
  readonly #connection: Connection
  readonly #deadline: NodeJS.Timeout
  #settled = false
  /** The socket that carries it, once it is being written. */
  #socket: Socket | null = null
  #reused = false
  #bytesBefore = 0
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #body: Buffer = nothing
  #keptBytes = 0
  #readBytes = 0

  constructor(deps: AttemptDeps, request: SendRequest, target: Target, resolve: (outcome: Outcome) => void) {
    this.#deps = deps
    this.#request = request
    this.#target = target
    this.#resolve = resolve
    this.#connection = deps.connections.acquire(target, request.fresh)
    this.#deadline = setTimeout(onDeadline, request.timeoutMs, this)
    deps.running.add(this)
    deps.signals.add(request.signal, this)
  }

  start(headers: string[]): void {
    const { client } = this.#connection
    client.dispatch({ path: this.#target.path, method: 'POST', headers, body: this.#request.body }, this)
  }

  /** The connection stands, and the request is being written to it. */
  onRequestStart(): void {
    const { socket, answers } = this.#connection
    this.#socket = socket
    this.#connection.reader = this
    this.#reused = answers > 0
    this.#bytesBefore = socket?.bytesRead ?? 0
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#settled) return
    if (status === 101) {
      this.#fail({ code: 'response_invalid', message: `${this.#host()} switched protocols unasked`, phase: 'headers' })
      return
    }
    // Informational: the final status is still to come, before the same deadline.
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    this.#readBytes += chunk.length
    const room = maxKeptBytes - this.#keptBytes
    if (room > 0) {
      const part = chunk.length > room ? chunk.subarray(0, room) : chunk
      // A copy: the chunk is a view of a larger buffer, which would be kept with it.
      if (this.#keptBytes === 0) this.#body = Buffer.from(part)
      else this.#append(part)
      this.#keptBytes += part.length
    }
    if (this.#readBytes > maxReadBytes) this.#answered(true)
  }

  /** Into one buffer, however many parts there are: a body can come in chunks of one byte. */
  #append(part: Buffer): void {
    if (this.#body.length < maxKeptBytes) {
      const whole = Buffer.allocUnsafeSlow(maxKeptBytes)
      this.#body.copy(whole)
      this.#body = whole
    }
    part.copy(this.#body, this.#keptBytes)
  }

  onResponseEnd(): void {
    if (this.#settled) return
    this.#connection.answers++
    this.#deps.connections.release(this.#connection)
    this.#answered(this.#readBytes > maxKeptBytes)
  }

  onResponseError(_: Dispatcher.DispatchController | null, thrown: Error): void {
    if (this.#settled) return
    const error = causeOf(thrown)
    if (this.#status !== 0) {
      this.#answered(true)
      return
    }
    const described = describeError(error, { phase: this.#phase(), host: this.#host() })
    if (described.code === 'internal') this.#deps.onInternalError(error)
    const unanswered = this.#reused && this.#socket?.bytesRead === this.#bytesBefore
    this.#fail(described, unanswered && isClosedByPeer(error))
  }

  onAbort(): void {
    if (this.#settled) return
    if (this.#status !== 0) this.#answered(true)
    else
      this.#fail({ code: 'aborted', phase: this.#phase(), message: 'the dispatcher gave the attempt up' }, false, true)
  }

  onTimeout(): void {
    if (this.#settled) return
    if (this.#status !== 0) {
      this.#answered(true)
      return
    }
    const phase = this.#phase()
    const code = phase === 'connect' ? 'connect_timeout' : phase === 'proxy' ? 'proxy_unreachable' : 'timeout'
    this.#fail({ code, phase, message: `${this.#host()} ${late[phase]} within ${this.#request.timeoutMs} ms` })
  }

  /**
   * Ends it when more came in than an answer may hold: a body is counted as it comes, but not what stands before and between
   * (headers, informational answers, chunk extensions), which a receiver can send for ever.
   */
  checkFlood(): void {
    if (this.#settled || !this.#socket) return
    const received = this.#socket.bytesRead - this.#bytesBefore
    if (received <= maxHeadBytes) return
    if (this.#status === 0) {
      const message = `${this.#host()} sent more than ${maxHeadBytes / 1024} KiB without an answer`
      this.#fail({ code: 'response_invalid', phase: 'headers', message })
    } else if (received > maxWireBytes) this.#answered(true)
  }

  #answered(truncated: boolean): void {
    const body = this.#body.subarray(0, this.#keptBytes)
    const response = { status: this.#status, headers: boundHeaders(this.#headers), body, truncated }
    this.#settle(response, null, false, false)
  }

  #fail(error: AttemptError, stale = false, aborted = false): void {
    this.#settle(null, error, stale, aborted)
  }

  #settle(response: Outcome['response'], error: AttemptError | null, stale: boolean, aborted: boolean): void {
    this.#settled = true
    this.#connection.reader = null
    clearTimeout(this.#deadline)
    this.#deps.signals.remove(this.#request.signal, this)
    this.#deps.running.delete(this)
    // Still ours unless it was released: then its answer did not end, and the socket is of no more use.
    if (this.#connection.state === 'busy') this.#deps.connections.discard(this.#connection)
    this.#resolve({
      startedAt: this.#startedAt,
      durationMs: performance.now() - this.#startedMs,
      url: this.#request.url,
      response,
      retryAfter: (response && this.#headers['retry-after']) ?? null,
      error,
      stale,
      aborted,
    })
  }

  #phase(): AttemptPhase {
    if (!this.#socket) return this.#connection.phase === 'ready' ? 'request' : this.#connection.phase
    return this.#socket.writableLength > 0 ? 'request' : 'headers'
  }

  #host(): string {
    const { hostname, port } = this.#target
    return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`
  }
}

const late: Record<AttemptPhase, string> = {
  target: 'was not checked',
  dns: 'was not resolved',
  proxy: 'was not reached: the egress proxy did not accept the connection',
  connect: 'did not accept the connection',
  tls: 'did not finish the TLS handshake',
  request: 'did not take the whole request',
  headers: 'did not answer',
}

/**
 * Not at once, but after the event loop has read its sockets: when the process was stalled, timers run first, and an answer
 * that came in time must not lose to them.
 */
function onDeadline(attempt: Attempt): void {
  setImmediate(timeOut, attempt)
}

function timeOut(attempt: Attempt): void {
  attempt.onTimeout()
}
