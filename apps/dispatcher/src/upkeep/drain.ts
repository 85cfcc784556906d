import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { cancelAtClosedLane, finishLaneDrain, readDrainingLanes } from '@posthorn/core/sql'
import { endpointName } from '../log-names.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const lanesAtOnce = 64
const batch = 500

/** Cancels what is still owed to disabled and deleted endpoints, in batches that hold nobody up. */
export function startDrain(deps: { pool: Pool; timing: Timing; log: Log }): Loop {
  const { pool, timing, log } = deps
  return startLoop({
    name: 'drain',
    log,
    afterFaultMs: 2_000,
    firstMs: timing.unaskedMs,
    async run() {
      let canceled = 0
      for (const endpointId of await readDrainingLanes(pool, lanesAtOnce)) {
        for (;;) {
          const count = await cancelAtClosedLane(pool, endpointId, batch)
          canceled += count
          if (count < batch) break
        }
        if (await finishLaneDrain(pool, endpointId)) {
          log.info({ endpoint: endpointName(endpointId) }, 'what was owed to a closed endpoint is canceled')
        }
      }
      return canceled > 0 ? 50 : timing.unaskedMs
    },
  })
}
