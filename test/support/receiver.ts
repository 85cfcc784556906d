import { createHash } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from './wait.ts'

export type Received = {
  /** When its headers arrived, in ms since the epoch. */
  at: number
  method: string
  /** With the query, as sent. */
  path: string
  headers: IncomingHttpHeaders
  /** Names and values as they came over the wire, in order. */
  rawHeaders: [string, string][]
  /** Empty when the receiver does not keep bodies. */
  body: Buffer
  bodySha256: string
  bodyLength: number
  /** Requests to the same path that were being handled when this one arrived, itself included. */
  inFlightAtArrival: number
}

/** `hang`: never answers. `reset`: resets the connection without an answer. */
export type Answer =
  | { status: number; headers?: Record<string, string | string[]>; body?: string | Uint8Array; delayMs?: number }
  | 'hang'
  | 'reset'

export type Respond = (request: Received) => Answer | Promise<Answer>

export type ReceiverOptions = {
  respond?: Respond
  /** Default true. With tens of thousands of requests keep their hashes only. */
  keepBodies?: boolean
  /** 0, the default, takes any free port. */
  port?: number
}

export type Receiver = {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  url: string
  port: number
  /** All complete requests, in the order in which they were complete. */
  requests: Received[]
  /** Says what to answer; may be set at any time. Default: 200. */
  respond: Respond
  /** Waits for so many requests in all. */
  waitFor(count: number, timeoutMs: number): Promise<Received[]>
  /** Waits for the first request, past or to come, that matches. */
  waitFor(matches: (request: Received) => boolean, timeoutMs: number): Promise<Received>
  /** Waits until `done` is true; asks now and after each request. */
  waitUntil(done: () => boolean, timeoutMs: number): Promise<void>
  /** The most requests to a path (without its query) that were ever handled at once. */
  maxInFlight(path: string): number
  /** Cuts all connections and closes. */
  close(): Promise<void>
}

/** A real HTTP server that records what it is sent and answers as told. */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const keepBodies = options.keepBodies ?? true
  const requests: Received[] = []
  const waiters = new Set<(latest: Received) => void>()
  const inFlight = new Map<string, number>()
  const mostInFlight = new Map<string, number>()

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now()
    const path = pathOf(request.url ?? '/')
    const now = (inFlight.get(path) ?? 0) + 1
    inFlight.set(path, now)
    mostInFlight.set(path, Math.max(now, mostInFlight.get(path) ?? 0))
    response.once('close', () => inFlight.set(path, (inFlight.get(path) ?? 1) - 1))

    const hash = createHash('sha256')
    const chunks: Buffer[] = []
    let bodyLength = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      hash.update(chunk)
      bodyLength += chunk.length
      if (keepBodies) chunks.push(chunk)
    }
    const received: Received = {
      at,
      method: request.method ?? '',
      path: request.url ?? '/',
      headers: request.headers,
      rawHeaders: pairs(request.rawHeaders),
      body: Buffer.concat(chunks),
      bodySha256: hash.digest('hex'),
      bodyLength,
      inFlightAtArrival: now,
    }
    requests.push(received)
    for (const waiter of waiters) waiter(received)
    await answer(await receiver.respond(received), response)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // A sender that goes away in the middle is part of many tests; anything else is a mistake in `respond`.
      if (!request.destroyed || request.complete) console.error('receiver:', error)
      response.destroy()
    })
  })
  server.requestTimeout = 0
  server.headersTimeout = 0
  server.keepAliveTimeout = 60_000
  server.maxRequestsPerSocket = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: options.port ?? 0, host: '127.0.0.1', backlog: 4_096 }, resolve)
  })
  const { port } = server.address() as AddressInfo

  function waitUntil(done: (latest: Received | null) => boolean, timeoutMs: number): Promise<void> {
    if (done(null)) return Promise.resolve()
    let waiter: (latest: Received) => void = () => undefined
    const reached = new Promise<void>((resolve, reject) => {
      waiter = (latest) => {
        try {
          if (done(latest)) resolve()
        } catch (error) {
          reject(error)
        }
      }
      waiters.add(waiter)
    })
    const what = (): string => `the receiver has got ${requests.length} requests, and not what was waited for`
    return within(reached, timeoutMs, what).finally(() => waiters.delete(waiter))
  }

  async function waitFor(
    wanted: number | ((request: Received) => boolean),
    timeoutMs: number,
  ): Promise<Received[] & Received> {
    if (typeof wanted === 'number') {
      await waitUntil(() => requests.length >= wanted, timeoutMs)
      return requests.slice() as Received[] & Received
    }
    let found = requests.find(wanted)
    const matches = (latest: Received | null): boolean => {
      if (!found && latest && wanted(latest)) found = latest
      return found !== undefined
    }
    await waitUntil(matches, timeoutMs)
    return found as Received[] & Received
  }

  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    respond: options.respond ?? (() => ({ status: 200 })),
    waitFor,
    waitUntil,
    maxInFlight: (path) => mostInFlight.get(path) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

async function answer(told: Answer, response: ServerResponse): Promise<void> {
  if (told === 'hang') return
  if (told === 'reset') {
    response.socket?.resetAndDestroy()
    return
  }
  if (told.delayMs) await sleep(told.delayMs)
  response.writeHead(told.status, told.headers)
  response.end(told.body)
}

function pairs(raw: string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] ?? '', raw[index * 2 + 1] ?? ''])
}

function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
