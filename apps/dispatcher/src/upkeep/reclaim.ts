import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { readLowestLeased, reclaimDeliveries } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { deliveryName } from '../log-names.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Marks } from '../marks.ts'
import type { Timing } from '../timing.ts'

const batch = 500

/** Takes back the leases of dispatchers that died or stalled. */
export function startReclaim(deps: {
  pool: Pool
  book: LaneBook
  marks: Marks
  timing: Timing
  defaultSteps: number
  log: Log
}): Loop {
  const { pool, book, marks, timing, log } = deps
  let low = 0n
  return startLoop({
    name: 'reclaim',
    log,
    afterFaultMs: 1_000,
    firstMs: timing.reclaimMs,
    async run() {
      // Before the scan: a lease with a ticket below it is committed, so the scan sees it.
      const mark = marks.safe()
      const { taken, rung } = await reclaimDeliveries(pool, {
        low,
        silentMs: timing.silentMs,
        graceMs: timing.graceMs,
        defaultSteps: deps.defaultSteps,
        limit: batch,
        startGraceMs: timing.startGraceMs,
      })
      for (const delivery of taken) {
        log.warn(
          { delivery: deliveryName(delivery), ended: delivery.usedUp },
          'a lease was lost: its dispatcher died or stalled',
        )
        book.offer(delivery.endpointId, 'doorbell')
      }
      for (const id of rung) book.offer(id, 'doorbell')
      if (taken.length === batch) return 0
      const lowest = await readLowestLeased(pool, low)
      low = lowest !== null && lowest < mark ? lowest : mark
      return timing.reclaimMs
    },
  })
}
