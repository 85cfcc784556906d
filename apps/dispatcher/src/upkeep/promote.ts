import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { promoteDeliveries, readNextDue } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const batch = 500
const beginning = '-infinity'
const fromBeginningMs = 30_000

/** Makes due deliveries ready, and knows when the next is due. */
export function startPromote(deps: { pool: Pool; book: LaneBook; timing: Timing; log: Log }): Loop {
  const { pool, book, timing, log } = deps
  let from = beginning
  let fromBeginningAt = Number.NEGATIVE_INFINITY
  return startLoop({
    name: 'promote',
    log,
    afterFaultMs: 1_000,
    async run() {
      if (performance.now() - fromBeginningAt > fromBeginningMs) {
        from = beginning
        fromBeginningAt = performance.now()
      }
      const promoted = await promoteDeliveries(pool, from, batch)
      for (const id of promoted.endpointIds) book.offer(id, 'doorbell')
      if (promoted.count === batch) return 0
      // Only a run that found all of a stretch due may pass over it.
      if (promoted.lastDueAt !== null) from = promoted.lastDueAt
      const next = await readNextDue(pool, from)
      return next === null ? timing.promoteMs : Math.max(5, Math.min(next, timing.promoteMs))
    },
  })
}
