import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { lookOut, type Lookout as Seen } from '@posthorn/core/sql'
import { type Loop, startLoop } from '../loop.ts'
import type { Marks } from '../marks.ts'
import type { Timing } from '../timing.ts'
import type { Promote } from './promote.ts'

/** What is told of work, and else looks for it rarely. */
export type Told = {
  promote: Promote
  reclaim: Pick<Loop, 'hurry'>
  reorder: Pick<Loop, 'hurry'>
  drain: Pick<Loop, 'hurry'>
  jobs: Pick<Loop, 'hurry'>
}

export type Lookout = Loop & {
  /** A ticket below which no row is leased. */
  low(): bigint
}

/** Looks for the work of the rarer loops in one statement, and hurries those that have some. */
export function startLookout(deps: { pool: Pool; marks: Marks; timing: Timing; log: Log; told: Told }): Lookout {
  const { pool, marks, timing, log, told } = deps
  let low = 0n
  let dueTimer: NodeJS.Timeout | undefined

  function hurry({ lost, dueMs, reordering, draining, job }: Seen): void {
    if (lost) told.reclaim.hurry()
    if (reordering) told.reorder.hurry()
    if (draining) told.drain.hurry()
    if (job) told.jobs.hurry()
    clearTimeout(dueTimer)
    if (dueMs !== null && dueMs <= timing.lookoutMs) dueTimer = setTimeout(told.promote.hurry, dueMs)
  }

  const loop = startLoop({
    name: 'lookout',
    log,
    afterFaultMs: 1_000,
    async run() {
      // Before the look: a lease with a ticket below it is committed, so it is seen.
      const mark = marks.safe()
      const { silentMs, startGraceMs } = timing
      const seen = await lookOut(pool, { low, silentMs, startGraceMs, from: told.promote.from() })
      low = seen.lowest !== null && seen.lowest < mark ? seen.lowest : mark
      hurry(seen)
      return timing.lookoutMs
    },
  })
  return {
    hurry: loop.hurry,
    low: () => low,
    async stop() {
      await loop.stop()
      clearTimeout(dueTimer)
    },
  }
}
