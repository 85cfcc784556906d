import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { reclaimDeliveries } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { deliveryName } from '../log-names.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const batch = 500

/** Takes back the leases of dispatchers that died or stalled. `low`: a ticket below which no row is leased. */
export function startReclaim(deps: {
  pool: Pool
  book: LaneBook
  low: () => bigint
  timing: Timing
  defaultSteps: number
  log: Log
}): Loop {
  const { pool, book, timing, log } = deps
  return startLoop({
    name: 'reclaim',
    log,
    afterFaultMs: 1_000,
    firstMs: timing.unaskedMs,
    async run() {
      const { taken, rung } = await reclaimDeliveries(pool, {
        low: deps.low(),
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
      return taken.length === batch ? 0 : timing.unaskedMs
    },
  })
}
