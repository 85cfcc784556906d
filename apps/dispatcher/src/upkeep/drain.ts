import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import {
  cancelAtClosedLane,
  cancelScheduledAtClosedLanes,
  finishLaneDrain,
  readDrainingLanes,
} from '@posthorn/core/sql'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const lanesAtOnce = 64
const batch = 500
const stretch = 5_000

/** Cancels what is still owed to disabled and deleted endpoints, in batches that hold nobody up. */
export function startDrain(deps: { pool: Pool; timing: Timing; log: Log }): Loop {
  const { pool, timing, log } = deps
  return startLoop({
    name: 'drain',
    log,
    afterFaultMs: 2_000,
    firstMs: timing.drainMs,
    async run() {
      const lanes = await readDrainingLanes(pool, lanesAtOnce)
      if (lanes.length === 0) return timing.drainMs
      let canceled = 0
      let from = '-infinity'
      for (;;) {
        const walk = await cancelScheduledAtClosedLanes(pool, from, stretch)
        canceled += walk.canceled
        // The stretch begins with the last moment of the former: a step that stays there has seen all of it.
        if (walk.walked < stretch || walk.lastDueAt === null || walk.lastDueAt === from) break
        from = walk.lastDueAt
      }
      for (const lane of lanes) {
        for (;;) {
          const count = await cancelAtClosedLane(pool, lane, batch)
          canceled += count
          if (count < batch) break
        }
        if (await finishLaneDrain(pool, lane.endpointId)) {
          log.info(
            { endpoint_id: lane.endpointId, reason: lane.reason },
            'what was owed to a closed endpoint is canceled',
          )
        }
      }
      return canceled > 0 ? 50 : timing.drainMs
    },
  })
}
