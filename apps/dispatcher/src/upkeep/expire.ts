import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { beforeAllLanes, beforeOrderedLanes, expireOrdered, expireWaiting } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const lanesAtOnce = 1_000
const rowsAtOnce = 2_000

/**
 * Ends what has waited too long at lanes that are not claimed from, or too slowly: paused, blocked and limited ones. At all
 * others a claim meets what is too old. Goes round from a cursor, in small steps, for at most a twentieth of the time.
 */
export function startExpire(deps: { pool: Pool; timing: Timing; maxAgeMs: number; log: Log }): Loop {
  const { pool, timing, maxAgeMs, log } = deps
  let cursor = beforeAllLanes
  return startLoop({
    name: 'expire',
    log,
    afterFaultMs: 5_000,
    firstMs: timing.expireMs,
    async run() {
      const startedAt = performance.now()
      const step = await expireWaiting(pool, { from: cursor, maxAgeMs, lanes: lanesAtOnce, rows: rowsAtOnce })
      if (step.expired > 0) log.info({ deliveries: step.expired }, 'deliveries that waited too long have expired')
      cursor = step.next ?? beforeAllLanes
      const restMs = (performance.now() - startedAt) * 20
      return step.next === null ? Math.max(timing.expireMs, restMs) : Math.max(20, restMs)
    },
  })
}

/** The same at ordered lanes, where the end of a head lets the next of its key go. */
export function startExpireOrdered(deps: {
  pool: Pool
  book: LaneBook
  timing: Timing
  maxAgeMs: number
  log: Log
}): Loop {
  const { pool, book, timing, maxAgeMs, log } = deps
  let cursor = beforeOrderedLanes
  return startLoop({
    name: 'expire ordered',
    log,
    afterFaultMs: 5_000,
    firstMs: timing.expireMs,
    async run() {
      const startedAt = performance.now()
      const step = await expireOrdered(pool, { from: cursor, maxAgeMs, rows: rowsAtOnce })
      if (step.expired > 0)
        log.info({ deliveries: step.expired }, 'ordered deliveries that waited too long have expired')
      for (const id of step.released) book.offer(id, 'doorbell')
      cursor = step.next ?? beforeOrderedLanes
      const restMs = (performance.now() - startedAt) * 20
      return step.next === null ? Math.max(timing.expireMs, restMs) : Math.max(20, restMs)
    },
  })
}
