import type { Log } from '@posthorn/core'
import { createClient, type Pool } from '@posthorn/core/db'
import {
  deleteOldKeys,
  dropExpiredPartitions,
  makePartitionsAhead,
  readDeadDeliveries,
  vacuumDeliveries,
} from '@posthorn/core/sql'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const daysAhead = 15
const vacuumFromDead = 50_000
const longestVacuumPauseMs = 300_000
const keepKeysMs = 25 * 3_600_000
const keysBatch = 1_000

/** A connection of its own, outside the pool: for what holds a session's lock or may not run in a transaction. */
async function withClient<T>(url: string, work: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T> {
  const client = createClient(url, 'posthorn upkeep')
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Makes partitions ahead of time, and drops those past retention. */
export function startPartitions(deps: {
  pool: Pool
  url: string
  retentionMs: number
  timing: Timing
  log: Log
}): Loop {
  const { pool, url, retentionMs, timing, log } = deps
  return startLoop({
    name: 'partitions',
    log,
    afterFaultMs: 30_000,
    async run() {
      const made = await makePartitionsAhead(pool, daysAhead)
      if (made > 0) log.info({ made }, 'partitions made')
      const dropped = await withClient(url, (client) => dropExpiredPartitions(client, retentionMs))
      if (dropped.length > 0) log.info({ dropped }, 'partitions past retention dropped')
      return timing.partitionsMs
    },
  })
}

/** Vacuums the live table while many dead rows wait, and less often while something keeps them from being removed. */
export function startVacuum(deps: { pool: Pool; url: string; timing: Timing; log: Log }): Loop {
  const { pool, url, timing, log } = deps
  let pauseMs = timing.vacuumMs
  return startLoop({
    name: 'vacuum',
    log,
    afterFaultMs: 30_000,
    firstMs: timing.vacuumMs,
    async run() {
      const dead = await readDeadDeliveries(pool)
      if (dead < vacuumFromDead) {
        pauseMs = timing.vacuumMs
        return pauseMs
      }
      if (!(await withClient(url, vacuumDeliveries))) return timing.vacuumMs
      const left = await readDeadDeliveries(pool)
      pauseMs = left > dead / 2 ? Math.min(longestVacuumPauseMs, pauseMs * 2) : timing.vacuumMs
      return pauseMs
    },
  })
}

/** Forgets idempotency keys that are more than a day old. */
export function startKeys(deps: { pool: Pool; timing: Timing; log: Log }): Loop {
  const { pool, timing, log } = deps
  return startLoop({
    name: 'idempotency keys',
    log,
    afterFaultMs: 60_000,
    firstMs: timing.keysMs,
    async run() {
      const gone = await deleteOldKeys(pool, keepKeysMs, keysBatch)
      return gone === keysBatch ? 100 : timing.keysMs
    },
  })
}
