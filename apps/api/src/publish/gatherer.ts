import type { Log } from '@posthorn/core'
import { isDatabaseUnavailable, type Pool } from '@posthorn/core/db'
import { type KeyWait, type PublishRequest, type PublishResult, publishAndCommit } from '@posthorn/core/sql'
import { ApiProblem } from '../http/api-problem.ts'
import type { Doorbell } from './doorbell.ts'
import { createFlushQueue } from './flush-queue.ts'
import { createKeyFlights } from './key-flights.ts'

export type Gatherer = {
  /**
   * Publishes, and returns once the commit is done. Whether anybody still waits for it makes no difference.
   * @throws ApiProblem 409 when the key's first use is still under way, 503 when too much waits or at stop; and what
   * Postgres says
   */
  publish(request: PublishRequest): Promise<PublishResult>
  /** Takes nothing new, and returns when all that waited is written and answered. Idempotent. */
  stop(): Promise<void>
}

export type GathererOptions = {
  pool: Pool
  log: Log
  doorbell: Pick<Doorbell, 'ring'>
  /** What may wait at most; past it a publish is refused at once. Default 8 192 events, 20 MiB. */
  maxWaitingEvents?: number
  maxWaitingBytes?: number
}

/** One commit carries at most so much. */
const maxEvents = 512
const maxBytes = 1024 * 1024
/** Those of a failed batch that go alone, at once. */
const aloneAtOnce = 4
/** Publishes that wait longer for their key, each with a connection of its own. */
const patientAtOnce = 2

type Waiting = {
  request: PublishRequest
  events: number
  bytes: number
  resolve: (result: PublishResult) => void
  reject: (error: unknown) => void
}

/**
 * Gathers publishes that come at the same time into one statement and one commit: 1.8k commits a second carry 22k events.
 *
 * Invariants
 *   - A request is answered only after its commit, and is written whole or not at all.
 *   - Those with a key are gathered apart, and wait 100 ms for another transaction that holds one of their keys. Past it
 *     each goes alone, so that one held key delays the others no longer than that.
 *   - A key is under way once in this process; a second use of it waits for the first.
 *   - A statement that fails, but for an unavailable database, is tried again with each request alone: a bad one fails alone.
 */
export function createGatherer(options: GathererOptions): Gatherer {
  const { pool, log, doorbell, maxWaitingEvents = 8_192, maxWaitingBytes = 20 * 1024 * 1024 } = options
  let waitingEvents = 0
  let waitingBytes = 0
  let patient = 0
  const patients = new Set<Promise<void>>()
  let stopping = false

  async function commit(batch: readonly Waiting[], keyWait: KeyWait): Promise<void> {
    const results = await publishAndCommit(
      pool,
      batch.map((each) => each.request),
      keyWait,
    )
    for (const [place, each] of batch.entries()) {
      const result = results[place]!
      each.resolve(result)
      if (result.outcome === 'accepted') doorbell.ring(result.lanes)
    }
  }

  async function eachAlone(batch: readonly Waiting[], alone: (each: Waiting) => Promise<void>): Promise<void> {
    const rest = batch.values()
    await Promise.all(
      Array.from({ length: Math.min(aloneAtOnce, batch.length) }, async () => {
        for (const each of rest) await alone(each)
      }),
    )
  }

  async function flushUnkeyed(batch: Waiting[]): Promise<void> {
    try {
      await commit(batch, 'none')
    } catch (error) {
      if (batch.length === 1 || isOutage(error)) {
        for (const each of batch) each.reject(error)
        return
      }
      log.warn({ err: error, requests: batch.length }, 'a gathered publish failed; each goes alone')
      await eachAlone(batch, (each) => flushUnkeyed([each]))
    }
  }

  async function flushKeyed(batch: Waiting[]): Promise<void> {
    try {
      await commit(batch, 'short')
    } catch (error) {
      if (batch.length > 1 && (isKeyHeld(error) || !isOutage(error))) {
        await eachAlone(batch, (each) => flushKeyed([each]))
      } else if (isKeyHeld(error)) {
        waitLonger(batch[0]!)
      } else {
        for (const each of batch) each.reject(error)
      }
    }
  }

  /** Off the flights, so that nobody else waits for the key's holder. */
  function waitLonger(each: Waiting): void {
    if (patient >= patientAtOnce) {
      each.reject(keyInUse())
      return
    }
    patient++
    const wait = commit([each], 'long')
      .catch((error: unknown) => each.reject(isKeyHeld(error) ? keyInUse() : error))
      .finally(() => {
        patient--
        patients.delete(wait)
      })
    patients.add(wait)
  }

  const unkeyed = createFlushQueue<Waiting>({ flights: 2, maxEvents, maxBytes, flush: flushUnkeyed })
  const keyed = createFlushQueue<Waiting>({ flights: 1, maxEvents, maxBytes, flush: flushKeyed })
  const flights = createKeyFlights<PublishResult>(
    (error) => error instanceof ApiProblem || isDatabaseUnavailable(error),
  )

  function enqueue(request: PublishRequest, events: number, bytes: number): Promise<PublishResult> {
    return new Promise<PublishResult>((resolve, reject) => {
      const queue = request.idempotencyKey === null ? unkeyed : keyed
      queue.push({ request, events, bytes, resolve, reject })
    })
  }

  return {
    async publish(request) {
      if (stopping) throw new ApiProblem('stopping', undefined, { retryAfterSeconds: 2 })
      const events = request.events.length
      let bytes = 0
      for (const event of request.events) bytes += event.payload.length
      // One is always taken, or a batch as large as the bound could never be.
      const full = waitingEvents + events > maxWaitingEvents || waitingBytes + bytes > maxWaitingBytes
      if (full && waitingEvents > 0) {
        throw new ApiProblem('overloaded', 'Too many publishes wait to be written.', { retryAfterSeconds: 1 })
      }
      waitingEvents += events
      waitingBytes += bytes
      try {
        const { tenantId, idempotencyKey } = request
        if (idempotencyKey === null) return await enqueue(request, events, bytes)
        return await flights.run(`${tenantId}\n${idempotencyKey}`, () => enqueue(request, events, bytes))
      } finally {
        waitingEvents -= events
        waitingBytes -= bytes
      }
    },
    async stop() {
      stopping = true
      while (flights.size > 0 || patients.size > 0) {
        await Promise.all([flights.idle(), ...patients])
      }
      await Promise.all([unkeyed.idle(), keyed.idle()])
    },
  }
}

/** Whether going alone would meet the same fault. A deadlock or a held lock is the batch's own. */
function isOutage(error: unknown): boolean {
  const state = sqlState(error)
  return isDatabaseUnavailable(error) && state !== '40P01' && state !== '40001' && state !== '55P03'
}

function isKeyHeld(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code
}

function keyInUse(): ApiProblem {
  return new ApiProblem('idempotency_key_in_use', 'The first use of this idempotency key is still under way.', {
    retryAfterSeconds: 1,
  })
}
