import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { type OldestDue, readOldestDue } from '@posthorn/core/sql'

const keptMs = 5_000
/** Well below the deadline of readiness, whose answer waits for it. */
const deadlineMs = 800

/**
 * The age of the oldest work, read at most every 5 s however often it is asked for. It is told beside readiness and never
 * decides it: where it cannot be read in time it is null.
 */
export function createOldestDue({ pool, log }: { pool: Pool; log: Log }): () => Promise<OldestDue | null> {
  let latest: { value: Promise<OldestDue | null>; atMs: number } | undefined

  function read(): Promise<OldestDue | null> {
    return readOldestDue(pool).catch((error: unknown) => {
      log.debug({ err: error }, 'the oldest due delivery could not be read')
      return null
    })
  }

  return async () => {
    const nowMs = performance.now()
    if (latest === undefined || nowMs - latest.atMs >= keptMs) latest = { value: read(), atMs: nowMs }
    const deadline = Promise.withResolvers<null>()
    const timer = setTimeout(() => deadline.resolve(null), deadlineMs)
    try {
      return await Promise.race([latest.value, deadline.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
