import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, Pool } from 'undici'
import { sharedNow } from './clock.ts'
import { serve } from './serve.ts'

/** Requests that differ only in their path, which goes round. */
export type Target = {
  origin: string
  paths: string[]
  headers: Record<string, string>
  body: Uint8Array
  /** The only status that counts as done. */
  status: number
  connections: number
}

export type ClosedLoad = Target & {
  /** Requests under way at a time: each is followed by the next. */
  inFlight: number
  warmUpMs: number
  measureMs: number
  /** A request that is refused for want of room is sent again once Retry-After is over. */
  patient: boolean
}

export type ClosedResult = {
  /** Done a second, from the end of the warm-up to the end of the time. */
  rate: number
  /** Done in all, warm-up and what was under way at the end included. */
  done: number
  /** Refused for want of room, and sent again. */
  refused: number
  /** When the first was sent, on the shared clock. */
  startedAt: number
}

export type OpenLoad = Target & {
  /** Requests a second, evenly spaced, whatever becomes of them. */
  rate: number
  measureMs: number
  /** In each of them. */
  events: number
}

export type OpenResult = {
  /** As the answers named them, in the order of the schedule. */
  ids: string[]
  /** When each event should have been sent, when it was, and when its answer had come, on the shared clock. */
  intendedAt: Float64Array
  sentAt: Float64Array
  answeredAt: Float64Array
}

/** A request that takes longer has failed. */
const timeoutMs = 30_000

function createPool({ origin, connections }: Target): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: 60_000,
  })
}

function createRequests({ paths, headers, body }: Target): () => Dispatcher.RequestOptions {
  const requests = paths.map((path) => ({ path, method: 'POST' as const, headers, body }))
  let next = 0
  return () => {
    next = next + 1 < requests.length ? next + 1 : 0
    return requests[next]!
  }
}

const functions = {
  /** Sends as fast as it is answered. @throws at the first answer that is not the one wanted */
  async closed(load: ClosedLoad): Promise<ClosedResult> {
    const pool = createPool(load)
    const nextRequest = createRequests(load)
    const startedAt = sharedNow()
    const measureFrom = startedAt + load.warmUpMs
    const stopAt = measureFrom + load.measureMs
    let done = 0
    let measured = 0
    let refused = 0
    let failed = false
    async function one(): Promise<void> {
      while (!failed) {
        if (sharedNow() >= stopAt) return
        const response = await pool.request(nextRequest())
        if (load.patient && response.statusCode === 503) {
          await response.body.dump()
          refused++
          await sleep(Number(response.headers['retry-after']) * 1_000)
          continue
        }
        if (response.statusCode !== load.status) {
          throw new Error(`answered ${response.statusCode}: ${(await response.body.text()).slice(0, 500)}`)
        }
        await response.body.dump()
        done++
        const now = sharedNow()
        if (now >= measureFrom && now < stopAt) measured++
      }
    }
    try {
      await Promise.all(Array.from({ length: load.inFlight }, one))
    } finally {
      failed = true
      await pool.destroy()
    }
    return { rate: (measured * 1_000) / load.measureMs, done, refused, startedAt }
  },

  /**
   * Publishes by the clock, all events of a request at once: a slow answer delays no other, and one that is sent late counts from when it was due.
   * @throws when an answer is not the one wanted
   */
  async open(load: OpenLoad): Promise<OpenResult> {
    const pool = createPool(load)
    const nextRequest = createRequests(load)
    const count = Math.max(1, Math.round((load.rate * load.measureMs) / 1_000))
    const { events } = load
    const ids = new Array<string>(count * events).fill('')
    const intendedAt = new Float64Array(count * events)
    const sentAt = new Float64Array(count * events)
    const answeredAt = new Float64Array(count * events)
    const gapMs = 1_000 / load.rate
    const firstAt = sharedNow() + 20
    const sends: Promise<void>[] = []
    async function send(at: number): Promise<void> {
      const from = at * events
      sentAt.fill(sharedNow(), from, from + events)
      const response = await pool.request(nextRequest())
      const text = await response.body.text()
      answeredAt.fill(sharedNow(), from, from + events)
      if (response.statusCode !== load.status) throw new Error(`answered ${response.statusCode}: ${text.slice(0, 500)}`)
      const answer = JSON.parse(text) as { id: string } | { data: { id: string }[] }
      const named = 'data' in answer ? answer.data : [answer]
      if (named.length !== events) throw new Error(`${events} events were published, and ${named.length} answered`)
      for (const [n, { id }] of named.entries()) ids[from + n] = id
    }
    try {
      await new Promise<void>((resolve) => {
        let at = 0
        function tick(): void {
          while (at < count && firstAt + at * gapMs <= sharedNow()) {
            intendedAt.fill(firstAt + at * gapMs, at * events, (at + 1) * events)
            const sending = send(at)
            // Read by the allSettled below; until then a rejection must not end the process.
            sending.catch(() => undefined)
            sends.push(sending)
            at++
          }
          if (at === count) resolve()
          else setTimeout(tick, Math.max(0, firstAt + at * gapMs - sharedNow()))
        }
        tick()
      })
      await Promise.all(sends)
    } finally {
      await pool.destroy()
    }
    return { ids, intendedAt, sentAt, answeredAt }
  },
}
export type LoadFunctions = typeof functions

serve(functions)
