import type { Log } from '@posthorn/core'
import { isDatabaseUnavailable, type Pool } from '@posthorn/core/db'
import { type Settlement, type SettleResult, settleDeliveries } from '@posthorn/core/sql'
import pRetry from 'p-retry'
import { deliveryName } from './log-names.ts'

/**
 * Gathers settlements and writes them in batches: one statement, one commit, many deliveries.
 *
 * Written until it has succeeded: the tickets fence it, so that a settle that comes after the lease was reclaimed, or for
 * the second time, changes nothing. While it cannot be written its slots stay taken, and nothing more is claimed.
 */
export type Settler = {
  add(item: Settlement): void
  /** Added and not yet written. */
  pending(): number
  /** Writes what is there; resolves when all is written, or after `ms`. @returns how many were not */
  flush(ms: number): Promise<number>
}

const maxBatch = 400
const maxBatchBytes = 2_000_000
const maxFlights = 2
// A settle costs the database a millisecond and 20 us a row, and the dispatcher several wake-ups: under load, where no lane's cap
// waits for it, thirty milliseconds make its batches several times as large.
const busyFrom = 32
const busyGatherMs = 30
const nothing: SettleResult = { superseded: [], blocked: [], rung: [] }

export function createSettler(deps: {
  pool: Pool
  log: Log
  /** Milliseconds that settlements wait for company; longer under load. */
  gatherMs: number
  /** The lane has reached its cap: no more of it is claimed before it settles. */
  isFull: (endpointId: string) => boolean
  /** See SettleOptions. */
  disableAfterMs: number
  onSettled: (items: readonly Settlement[], result: SettleResult) => void
}): Settler {
  const { pool, log, gatherMs, isFull, disableAfterMs } = deps
  let waiting: Settlement[] = []
  let unwritten = 0
  let flights = 0
  let lastBatch = 0
  let timer: NodeJS.Timeout | undefined
  let timerMs = Number.POSITIVE_INFINITY
  /** What waits has waited long enough, and goes with the next flight that is free. */
  let due = false
  let onEmpty: (() => void)[] = []
  const given = new AbortController()

  function add(item: Settlement): void {
    waiting.push(item)
    unwritten++
    if (waiting.length >= maxBatch) depart()
    else if (!due) departIn(lastBatch < busyFrom || isFull(item.endpointId) ? gatherMs : busyGatherMs)
  }

  function departIn(ms: number): void {
    if (ms >= timerMs) return
    clearTimeout(timer)
    timerMs = ms
    timer = setTimeout(depart, ms)
  }

  function depart(): void {
    clearTimeout(timer)
    timerMs = Number.POSITIVE_INFINITY
    due = true
    while (flights < maxFlights && waiting.length > 0) {
      const batch = takeBatch()
      lastBatch = batch.length
      flights++
      void write(batch).then((result) => {
        flights--
        unwritten -= batch.length
        deps.onSettled(batch, result)
        if (due) depart()
        if (unwritten === 0) for (const resolve of onEmpty.splice(0)) resolve()
      })
    }
    if (waiting.length === 0) due = false
  }

  function takeBatch(): Settlement[] {
    let bytes = 0
    let count = 0
    while (count < waiting.length && count < maxBatch && bytes < maxBatchBytes) {
      bytes += 500 + (waiting[count]!.responseBody?.length ?? 0)
      count++
    }
    const batch = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return batch
  }

  /** Never rejects: a batch that the database refuses is split, and a settlement that it refuses is written bare. */
  async function write(batch: readonly Settlement[]): Promise<SettleResult> {
    try {
      const result = await retried(batch)
      for (const lease of result.superseded) {
        log.warn({ delivery: deliveryName(lease) }, 'a lease was no longer ours: its attempt is logged as superseded')
      }
      return result
    } catch (error) {
      if (given.signal.aborted) return nothing
      if (batch.length > 1) return writeEach(batch)
      const item = batch[0]!
      log.error(
        { err: error, delivery: deliveryName(item) },
        'an attempt could not be logged whole; what the receiver sent is left out',
      )
      return retried([bare(item)]).catch((fault: unknown) => {
        log.error(
          { err: fault, delivery: deliveryName(item) },
          'an attempt could not be settled; its lease will be reclaimed',
        )
        return nothing
      })
    }
  }

  async function writeEach(batch: readonly Settlement[]): Promise<SettleResult> {
    const all: SettleResult = { superseded: [], blocked: [], rung: [] }
    for (const item of batch) {
      const one = await write([item])
      all.superseded.push(...one.superseded)
      all.blocked.push(...one.blocked)
      all.rung.push(...one.rung)
    }
    return all
  }

  function retried(batch: readonly Settlement[]): ReturnType<typeof settleDeliveries> {
    return pRetry(() => settleDeliveries(pool, batch, { disableAfterMs }), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: 1_000,
      randomize: true,
      signal: given.signal,
      // Deadlocks, serialization failures and lock time-outs count as unavailable: the same statement may succeed next.
      shouldRetry: ({ error }) => isDatabaseUnavailable(error),
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (attemptNumber === 1)
          log.warn({ err: error, settlements: batch.length }, 'a settle failed, and is sent again')
      },
    })
  }

  return {
    add,
    pending: () => unwritten,
    async flush(ms) {
      depart()
      if (unwritten > 0) {
        let limit: NodeJS.Timeout | undefined
        await Promise.race([
          new Promise<void>((resolve) => onEmpty.push(resolve)),
          new Promise<void>((resolve) => {
            limit = setTimeout(resolve, ms)
          }),
        ])
        clearTimeout(limit)
        onEmpty = []
        // What is left is given up: its leases will be reclaimed.
        given.abort(new Error('the dispatcher stops'))
      }
      return unwritten
    },
  }
}

/** The settlement without what a stranger wrote or no column holds: what remains cannot be refused. */
function bare(item: Settlement): Settlement {
  return {
    ...item,
    status: item.status !== null && item.status >= 100 && item.status <= 999 ? item.status : null,
    url: item.url?.isWellFormed() && !item.url.includes('\0') ? item.url : null,
    headerNames: [],
    responseHeaders: null,
    responseBody: null,
    error: item.error && { ...item.error, message: item.error.code },
  }
}
