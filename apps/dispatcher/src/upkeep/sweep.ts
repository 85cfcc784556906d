import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { markLanesDraining, noLane, sweepLanes } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Marks } from '../marks.ts'
import type { Timing } from '../timing.ts'

const lanesPerSweep = 1_000
/** A sweep that was held up for seconds must not rest for a minute: where no doorbell rings, nothing else finds new work. */
const longestRestMs = 5_000

/**
 * Finds lanes with ready work from a rotating cursor. It must suffice alone: behind a pooler, after a lost notification, for
 * events published in SQL.
 *
 * A rotation looks from the mark that was safe when the last complete rotation before it began. A row committed at some
 * moment is met by the first that begins after and is completed: the row's transaction still ran when the one before began
 * (or that one would have been the first), so the mark then was below the row's ticket. What is older than the mark is
 * found by a rotation from the first ticket, each `sweepAllMs`.
 */
export function startSweep(deps: { pool: Pool; book: LaneBook; marks: Marks; timing: Timing; log: Log }): Loop {
  const { pool, book, marks, timing, log } = deps
  let cursor = noLane
  let mark = 0n
  let formerMark = 0n
  let wholeAt = Number.NEGATIVE_INFINITY
  let whole = true
  let begun = { at: 0, mark: 0n }

  return startLoop({
    name: 'sweep',
    log,
    afterFaultMs: 1_000,
    async run() {
      const startedAt = performance.now()
      if (cursor === noLane) {
        whole = startedAt - wholeAt >= timing.sweepAllMs
        mark = whole ? 0n : formerMark
        begun = { at: startedAt, mark: marks.safe() }
      }
      const lanes = await sweepLanes(pool, cursor, mark, lanesPerSweep)
      for (const lane of lanes) if (lane.open) book.offer(lane.endpointId, whole ? 'sweep-all' : 'sweep')
      const closed = lanes.filter((lane) => lane.closed).map((lane) => lane.endpointId)
      if (closed.length > 0) await markLanesDraining(pool, closed)
      // Only now: what fails is looked at again, from the same cursor and the same mark.
      if (lanes.length === lanesPerSweep) {
        cursor = lanes.at(-1)!.endpointId
      } else {
        cursor = noLane
        formerMark = begun.mark
        if (whole) wholeAt = begun.at
      }
      const tookMs = performance.now() - startedAt
      return Math.max(timing.sweepMs, Math.min(tookMs * 20, longestRestMs))
    },
  })
}
