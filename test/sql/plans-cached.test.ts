import {
  claimDeliveries,
  giveBackDeliveries,
  type Lease,
  noLane,
  promoteDeliveries,
  readEventsToSend,
  reclaimDeliveries,
  sweepLanes,
} from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addLanes, owe, scheduled, settle, settlementOf, useBench } from './claim-fixture.ts'
import { type Captured, createCapture } from './plans-capture.ts'

/*
 * A connection plans its statements once. A dispatcher that has been idle on a new database has planned them while the tables
 * held a handful of rows; then the first burst comes, and until the statistics follow, those plans are what it has.
 */

const bench = useBench()
let capture: Captured
let upkeep: Captured
let lanes: string[]

beforeAll(async () => {
  lanes = await addLanes(bench.pool, 20, { maxInFlight: 100 })
  const { rows: tables } = await bench.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  for (const { name } of tables) await bench.pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  const plans = { plan_cache_mode: 'force_generic_plan' }
  capture = createCapture(bench.database.url, plans)
  upkeep = createCapture(bench.database.url, plans, { indexesOnly: true })
})

afterAll(async () => {
  await capture?.close()
  await upkeep?.close()
})

const claim = async (limit: number): Promise<Lease[]> => {
  const claims = await claimDeliveries(capture.pool, {
    lanes: lanes.map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })),
    limit,
    perLane: limit,
    graceMs: 15_000,
    dispatcherId: bench.dispatcherId,
    payloadBytes: 1_000_000,
  })
  return claims.flatMap((lane) => lane.leases)
}

/** All that a dispatcher does with what it has claimed. */
async function round(limit: number): Promise<number> {
  const leases = await claim(limit)
  await readEventsToSend(
    capture.pool,
    leases.map((lease) => lease.eventId),
  )
  const third = Math.ceil(leases.length / 3)
  await giveBackDeliveries(capture.pool, leases.slice(0, third))
  await settle(capture.pool, [
    ...leases.slice(third, 2 * third).map((lease) => settlementOf(lease)),
    ...leases.slice(2 * third).map((lease) => settlementOf(lease, { ...scheduled, step: 1, waitMs: 0 })),
  ])
  await promoteDeliveries(upkeep.pool, { due: '-infinity', settledMs: 0 }, limit)
  const left = await claim(9)
  await bench.pool.query(`update posthorn.delivery set lease_expires_at = now() - interval '1 s' where state = 1`)
  const options = { low: 0n, silentMs: 3_600_000, graceMs: 15_000, defaultSteps: 9, limit: 50, startGraceMs: 0 }
  await reclaimDeliveries(upkeep.pool, options)
  await sweepLanes(upkeep.pool, noLane, 0n, 100)
  return leases.length + left.length
}

test('plans of a nearly empty database read no more than their batch when the first burst comes', async () => {
  await owe(bench.pool, lanes[0]!, 12)
  await bench.pool.query('analyze posthorn.delivery, posthorn.event, posthorn.attempt, posthorn.lane')
  for (let turn = 0; turn < 3; turn++) await round(6)
  await capture.take()
  await upkeep.take()
  await Promise.all(lanes.map((lane) => owe(bench.pool, lane, 1_000)))
  expect(await round(150)).toBe(159)
  for (const plan of [...(await capture.take()), ...(await upkeep.take())]) {
    for (const node of plan.nodes) {
      const loops = node['Actual Loops'] ?? 0
      const read = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * loops
      const compared = (node['Rows Removed by Join Filter'] ?? 0) * loops
      expect(read, `${node['Node Type']} of ${plan.text.slice(0, 400)}`).toBeLessThan(10_000)
      expect(compared, `${node['Node Type']} of ${plan.text.slice(0, 400)}`).toBeLessThan(10_000)
    }
  }
})
