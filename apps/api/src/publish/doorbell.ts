import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { ringDoorbell } from '@posthorn/core/sql'

/** From one ring to the next a millisecond for each publish that the first was for, up to this: what comes meanwhile goes together. */
const maxSpacingMs = 3
/** Lanes waiting at most: past them some are left to the sweep. */
const maxLanes = 20_000

export type Doorbell = {
  /** Soon tells the dispatchers of lanes that have new work. Call it after the commit; it returns at once and never throws. */
  ring(endpointIds: readonly string[]): void
  /** Rings for what is gathered, and returns when that is done. Idempotent. */
  stop(): Promise<void>
}

/** The doorbell, off every publish's path: a fault is logged, for the sweep finds the lanes all the same. */
export function createDoorbell({ pool, log }: { pool: Pool; log: Log }): Doorbell {
  let lanes = new Set<string>()
  let timer: NodeJS.Timeout | NodeJS.Immediate | undefined
  let publishes = 0
  /** No ring before it, on the clock of `performance.now()`. */
  let quietUntil = 0
  let ringing: Promise<void> | undefined
  let stopped = false

  async function flush(): Promise<void> {
    const ids = [...lanes]
    lanes = new Set()
    try {
      await ringDoorbell(pool, ids)
    } catch (error) {
      log.warn({ err: error, lanes: ids.length }, 'the doorbell was not rung; the sweep will find the lanes')
    }
  }

  function start(): void {
    timer = undefined
    quietUntil = performance.now() + Math.min(publishes, maxSpacingMs)
    publishes = 0
    ringing = flush().finally(() => {
      ringing = undefined
      if (lanes.size > 0) schedule()
    })
  }

  function schedule(): void {
    // One at a time: what comes meanwhile goes together.
    if (timer !== undefined || ringing !== undefined || stopped) return
    const waitMs = quietUntil - performance.now()
    // The first goes at once, with the others of its commit.
    timer = waitMs > 0 ? setTimeout(start, waitMs) : setImmediate(start)
  }

  return {
    ring(endpointIds) {
      publishes++
      for (const id of endpointIds) if (lanes.size < maxLanes) lanes.add(id)
      if (lanes.size > 0) schedule()
    },
    async stop() {
      stopped = true
      clearTimeout(timer as NodeJS.Timeout)
      clearImmediate(timer as NodeJS.Immediate)
      timer = undefined
      await ringing
      if (lanes.size > 0) await flush()
    },
  }
}
