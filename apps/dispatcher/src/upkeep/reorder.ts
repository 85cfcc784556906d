import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { readReorderingLanes, reorderLane } from '@posthorn/core/sql'
import type { LaneBook } from '../lane-book.ts'
import { endpointName } from '../log-names.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const lanesAtOnce = 64
const batch = 1_000
const waitingMs = 100

/** Brings lanes whose ordering was changed from the old one to the new. */
export function startReorder(deps: { pool: Pool; book: LaneBook; timing: Timing; log: Log }): Loop {
  const { pool, book, timing, log } = deps
  return startLoop({
    name: 'reorder',
    log,
    afterFaultMs: 2_000,
    firstMs: timing.unaskedMs,
    async run() {
      let waiting = 0
      for (const endpointId of await readReorderingLanes(pool, lanesAtOnce)) {
        let result: Awaited<ReturnType<typeof reorderLane>>
        do result = await reorderLane(pool, endpointId, batch)
        while (result === 'more')
        if (result === 'waiting') {
          waiting++
          continue
        }
        // Rows have come back below what was known to be empty.
        book.offer(endpointId, 'sweep-all')
        log.info({ endpoint: endpointName(endpointId) }, 'an endpoint follows its new ordering')
      }
      return waiting > 0 ? waitingMs : timing.unaskedMs
    },
  })
}
