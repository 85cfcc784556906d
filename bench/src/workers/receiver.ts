import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sharedNow } from './clock.ts'
import { serve } from './serve.ts'

/*
 * The bench's receiver: as little as a receiver can do. It answers 200 "ok" once it has the whole body, and notes of each
 * webhook its id, path and moment, to be looked at when the measuring is over. A slow one lets a body wait before it reads it.
 */
const answer = Buffer.from('ok')
const headers = ['content-type', 'text/plain', 'content-length', String(answer.length)]

let requests = 0
let bodyBytes = 0
let ids: string[] = []
let paths: string[] = []
let moments = new Float64Array(65_536)
/** How long a body waits. */
let slowMs = 0
let waiting: { count: number; resolve(): void } | null = null

const server = createServer((request, response) => {
  if (slowMs > 0) setTimeout(() => take(request, response), slowMs)
  else take(request, response)
})
server.keepAliveTimeout = 60_000
server.requestTimeout = 0
server.headersTimeout = 0

function take(request: IncomingMessage, response: ServerResponse): void {
  request.on('data', (chunk: Buffer) => {
    bodyBytes += chunk.length
  })
  request.on('end', () => {
    requests++
    const id = request.headers['webhook-id']
    if (id !== undefined) note(id as string, request.url!)
    response.writeHead(200, headers)
    response.end(answer)
  })
}

function note(id: string, path: string): void {
  if (ids.length === moments.length) {
    const more = new Float64Array(moments.length * 2)
    more.set(moments)
    moments = more
  }
  moments[ids.length] = sharedNow()
  ids.push(id)
  paths.push(path)
  if (waiting !== null && ids.length >= waiting.count) {
    waiting.resolve()
    waiting = null
  }
}

const functions = {
  /** @returns the port it listens on */
  listen: () =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () =>
        resolve((server.address() as AddressInfo).port),
      )
    }),
  reset: () => {
    requests = 0
    bodyBytes = 0
    ids = []
    paths = []
  },
  beSlow: (ms: number) => {
    slowMs = ms
  },
  /** Resolves when so many webhooks have come since the last reset. */
  waitFor: (count: number) =>
    new Promise<void>((resolve) => {
      if (ids.length >= count) resolve()
      else waiting = { count, resolve }
    }),
  /** How many webhooks have come since the last reset. */
  count: () => ids.length,
  /** When the nth webhook came (from 1), on the shared clock. */
  momentOf: (n: number) => moments[n - 1]!,
  /** All ids and moments, in the order in which they came. */
  arrivals: () => ({ ids, moments: moments.slice(0, ids.length) }),
  /** What came, so that it can be compared with what was owed: a hash of the sorted lines "id path". */
  summary: () => {
    const lines = ids.map((id, at) => `${id} ${paths[at]!}`).sort()
    return {
      requests,
      webhooks: lines.length,
      distinct: new Set(lines).size,
      bodyBytes,
      digest: createHash('sha256').update(lines.join('\n')).digest('hex'),
    }
  },
}
export type ReceiverFunctions = typeof functions

serve(functions)
