import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { type PromoteFrom, promoteDeliveries, readNextDue } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Marks } from '../marks.ts'
import type { Timing } from '../timing.ts'

const batch = 500
const beginning = '-infinity'
const fromBeginningMs = 30_000
/** How long before a transaction has its id it may have reckoned a due_at: it waits for locks meanwhile. */
const marginMs = 5_000

export type Promote = Loop & {
  /** Where to look for what is scheduled: all below was promoted. */
  from(): PromoteFrom
}

/** Makes due deliveries ready, and knows when the next is due; of those that are scheduled meanwhile it is told. */
export function startPromote(deps: { pool: Pool; book: LaneBook; marks: Marks; timing: Timing; log: Log }): Promote {
  const { pool, book, marks, timing, log } = deps
  let due = beginning
  let fromBeginningAt = Number.NEGATIVE_INFINITY
  const from = (): PromoteFrom => ({ due, settledMs: marks.safeAtMs() - marginMs })
  const loop = startLoop({
    name: 'promote',
    log,
    afterFaultMs: 1_000,
    async run() {
      if (performance.now() - fromBeginningAt > fromBeginningMs) {
        due = beginning
        fromBeginningAt = performance.now()
      }
      const promoted = await promoteDeliveries(pool, from(), batch)
      for (const id of promoted.endpointIds) book.offer(id, 'doorbell')
      if (promoted.count === batch) return 0
      // Only a run that found all of a stretch due may pass over it.
      if (promoted.lastDueAt !== null) due = promoted.lastDueAt
      const next = await readNextDue(pool, from())
      return next === null ? timing.unaskedMs : Math.max(5, Math.min(next, timing.unaskedMs))
    },
  })
  return { ...loop, from }
}
