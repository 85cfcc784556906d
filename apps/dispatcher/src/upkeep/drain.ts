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
  // Lanes whose scheduled rows were walked since they closed; the walk over all scheduled rows is not made for them again
  // before it can be the last.
  let walked = new Set<string>()
  return startLoop({
    name: 'drain',
    log,
    afterFaultMs: 2_000,
    firstMs: timing.drainMs,
    async run() {
      const lanes = await readDrainingLanes(pool, lanesAtOnce)
      if (lanes.length === 0) return timing.drainMs
      let canceled = 0
      if (lanes.some((lane) => !lane.leased || !walked.has(lane.endpointId))) {
        for (let from: string | null = '-infinity'; from !== null; ) {
          const walk: { next: string | null; canceled: number } = await cancelScheduledAtClosedLanes(
            pool,
            from,
            stretch,
          )
          canceled += walk.canceled
          from = walk.next
        }
      }
      walked = new Set(lanes.map((lane) => lane.endpointId))
      for (const lane of lanes) {
        for (;;) {
          const count = await cancelAtClosedLane(pool, lane, batch)
          canceled += count
          if (count < batch) break
        }
        if (await finishLaneDrain(pool, lane)) {
          log.info({ endpoint_id: lane.endpointId }, 'what was owed to a closed endpoint is canceled')
        }
      }
      return canceled > 0 ? 50 : timing.drainMs
    },
  })
}
