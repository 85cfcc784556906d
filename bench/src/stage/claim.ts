import { createPool, type Pool } from '@posthorn/core/db'
import { claimDeliveries, giveBackDeliveries, noLane, sweepLanes } from '@posthorn/core/sql'
import type { Stage } from '../scenario.ts'

// A dispatcher's own: see its claimer.
export const lanesPerClaim = 64
const rowsPerClaim = 200
// And its sweep's.
const lanesPerSweep = 1_000

/** As a dispatcher's, on one connection. */
export function openClaimPool(stage: Stage): Pool {
  const pool = createPool({
    connectionString: stage.databaseUrl,
    max: 1,
    applicationName: 'posthorn bench claim',
    onError: () => undefined,
  })
  stage.scope.add(() => pool.end())
  return pool
}

/**
 * Claims as many as a claim may have, and gives them back at once, so that as much waits each time.
 * @returns milliseconds of the claim alone @throws when fewer were to be had
 */
export async function timeClaim(pool: Pool, dispatcherId: number, ids: readonly string[]): Promise<number> {
  const aims = ids.map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n }))
  const startedAt = performance.now()
  const claims = await claimDeliveries(pool, {
    lanes: aims,
    limit: rowsPerClaim,
    perLane: rowsPerClaim,
    graceMs: 15_000,
    dispatcherId,
  })
  const tookMs = performance.now() - startedAt
  const leases = claims.flatMap((lane) => lane.leases)
  if (leases.length !== rowsPerClaim) throw new Error(`a claim got ${leases.length} leases`)
  await giveBackDeliveries(pool, leases)
  return tookMs
}

/** One whole sweep from the first ticket. @returns the lanes that it found open, and milliseconds of each step */
export async function sweepAll(pool: Pool): Promise<{ open: string[]; stepMs: number[] }> {
  const open: string[] = []
  const stepMs: number[] = []
  let cursor = noLane
  while (true) {
    const startedAt = performance.now()
    const lanes = await sweepLanes(pool, cursor, 0n, lanesPerSweep)
    stepMs.push(performance.now() - startedAt)
    for (const lane of lanes) if (lane.open) open.push(lane.endpointId)
    if (lanes.length < lanesPerSweep) return { open, stepMs }
    cursor = lanes.at(-1)!.endpointId
  }
}
