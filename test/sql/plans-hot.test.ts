import {
  beforeAllLanes,
  cancelAtClosedLane,
  claimDeliveries,
  expireWaiting,
  finishLaneDrain,
  giveBackDeliveries,
  lookOut,
  noLane,
  promoteDeliveries,
  readDrainingLanes,
  readEventsToSend,
  readNextDue,
  reclaimDeliveries,
  sweepLanes,
} from '@posthorn/core/sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addLanes, failed, owe, scheduled, settle, settlementOf, useBench } from './claim-fixture.ts'
import { type Captured, createCapture, type PlanNode } from './plans-capture.ts'

/*
 * Each hot statement has one right plan: through the partial index of its state, or the primary key. It must not depend on
 * what the planner believes of the tables, nor on whether it knows the parameters.
 */

const bench = useBench()
let lanes: string[]
let events: string[]

const rowCount = 100_000

beforeAll(async () => {
  lanes = (await addLanes(bench.pool, 200, { maxInFlight: 100 })).sort()
  const { rows: tables } = await bench.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  for (const { name } of tables) await bench.pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  // As the tables were when they were analyzed for the last time: a handful of rows, all ready.
  events = await owe(bench.pool, lanes[0]!, 20)
  await bench.pool.query('analyze posthorn.delivery, posthorn.event, posthorn.attempt, posthorn.lane')
  // And as they are now: half ready, some leased, the rest scheduled; events and attempts of today.
  for (const lane of lanes.slice(1)) events.push(...(await owe(bench.pool, lane, 20)))
  await bench.pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state, attempts, lease_expires_at, dispatcher_id)
     select posthorn.uuid_v7(now() - n * interval '1 ms'), ($1::uuid[])[1 + n % 200], nextval('posthorn.ticket'), now(),
       now() + (n - $2::integer / 2) * interval '10 ms', x.state, 0,
       case x.state when 1 then now() + (n - $2::integer / 2) * interval '10 ms' end, case x.state when 1 then $3::integer end
     from generate_series(1, $2::integer) n,
       lateral (select (case when n % 50 = 0 then 1 when n % 2 = 1 then 0 else 2 end)::smallint as state) x`,
    [lanes, rowCount, bench.dispatcherId],
  )
  await bench.pool.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at)
     select e.id, ($1::uuid[])[1 + n % 200], gen_random_uuid(), n, 1, 4, now(), now()
     from posthorn.event e, generate_series(1, 10) n`,
    [lanes],
  )
})

const traffic = /^(delivery|event|attempt)(_\d{8})?$/

function seqScans(nodes: PlanNode[]): string[] {
  return nodes
    .filter((node) => node['Node Type'] === 'Seq Scan' && traffic.test(node['Relation Name'] ?? ''))
    .map((node) => node['Relation Name']!)
}

/** The indexes by which delivery was read. */
function indexesOf(nodes: PlanNode[]): string[] {
  const used = nodes
    .filter((node) => /Index/.test(node['Node Type']) && node['Index Name']?.startsWith('delivery'))
    .filter((node) => node['Actual Loops'] !== 0)
    .map((node) => node['Index Name']!)
  return [...new Set(used)].sort()
}

/** Events were read by their key, from the one partition that has them. @returns how many were looked for */
function expectEventsByKey(nodes: PlanNode[]): number {
  const read = nodes.filter((node) => /^event_\d{8}$/.test(node['Relation Name'] ?? '') && node['Actual Loops'] !== 0)
  expect(read.map((node) => node['Node Type'])).toEqual(['Index Scan'])
  return read[0]!['Actual Loops']!
}

const fresh = () => bench.pool.query('analyze posthorn.delivery, posthorn.event, posthorn.attempt, posthorn.lane')

describe.each([
  ['stale statistics, generic plans', 'force_generic_plan', () => Promise.resolve()],
  ['stale statistics, plans for the parameters', 'force_custom_plan', () => Promise.resolve()],
  ['fresh statistics, generic plans', 'force_generic_plan', fresh],
  ['fresh statistics, plans for the parameters', 'force_custom_plan', () => Promise.resolve()],
])('with %s', (_, plans, prepare) => {
  let capture: Captured

  beforeAll(async () => {
    await prepare()
    capture = createCapture(bench.database.url, { plan_cache_mode: plans })
  })

  afterAll(() => capture.close())

  async function plansOf(pattern: RegExp): Promise<PlanNode[]> {
    const taken = await capture.take()
    const nodes = taken.filter((plan) => pattern.test(plan.text)).flatMap((plan) => plan.nodes)
    expect(nodes.length).toBeGreaterThan(0)
    expect(taken.flatMap((plan) => seqScans(plan.nodes))).toEqual([])
    return nodes
  }

  test('claim and settle', async () => {
    const claims = await claimDeliveries(capture.pool, {
      lanes: lanes.slice(20, 84).map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })),
      limit: 120,
      perLane: 120,
      graceMs: 15_000,
      dispatcherId: bench.dispatcherId,
      payloadBytes: 1_000_000,
    })
    const leases = claims.flatMap((claim) => claim.leases)
    expect(leases).toHaveLength(120)
    const claimed = await capture.take()
    expect(claimed.flatMap((plan) => seqScans(plan.nodes))).toEqual([])
    const leasing = claimed.filter((plan) => /update posthorn\.delivery/.test(plan.text)).flatMap((plan) => plan.nodes)
    expect(indexesOf(leasing)).toEqual(['delivery_leased', 'delivery_ready'])
    expectEventsByKey(leasing)
    const locking = claimed.filter((plan) => /for no key update skip locked$/.test(plan.text))
    expect(locking.flatMap((plan) => plan.nodes).map((node) => node['Index Name'])).toContain('lane_pkey')

    expect(await giveBackDeliveries(capture.pool, leases.slice(100))).toBe(20)
    expect(indexesOf(await plansOf(/attempts - 1/))).toEqual(['delivery_pkey'])

    await settle(
      capture.pool,
      leases
        .slice(0, 100)
        .map((lease, at) =>
          settlementOf(
            lease,
            at % 3 === 0
              ? { ...scheduled, step: 1, waitMs: 60_000, status: 429, laneWaitMs: 1 }
              : at % 3 === 1
                ? { ...failed, state: 0 }
                : {},
          ),
        ),
    )
    expect(indexesOf(await plansOf(/insert into posthorn\.attempt/))).toEqual(['delivery_pkey'])
  })

  test('sweep, from the first ticket and from a mark', async () => {
    for (const mark of [0n, BigInt(rowCount / 2)]) {
      expect((await sweepLanes(capture.pool, noLane, mark, 100)).length).toBe(100)
      const nodes = await plansOf(/with recursive walk/)
      expect(indexesOf(nodes)).toEqual(['delivery_ready'])
      // One probe a lane, whatever waits there.
      const read = nodes.filter((node) => node['Index Name'] === 'delivery_ready')
      for (const node of read) expect(node['Actual Rows']).toBeLessThanOrEqual(1)
    }
  })

  test('promote and the next due', async () => {
    const beginning = { due: '-infinity', settledMs: 0 }
    expect((await promoteDeliveries(capture.pool, beginning, 100)).count).toBe(100)
    const nodes = await plansOf(/set state = 0, ticket/)
    expect(indexesOf(nodes)).toEqual(['delivery_scheduled'])
    await readNextDue(capture.pool, beginning)
    expect(indexesOf(await plansOf(/as ms/))).toEqual(['delivery_scheduled'])
  })

  test('reclaim', async () => {
    const options = { silentMs: 3_600_000, graceMs: 15_000, defaultSteps: 9, limit: 50, startGraceMs: 0 }
    expect((await reclaimDeliveries(capture.pool, { ...options, low: 0n })).taken).toHaveLength(50)
    expect(indexesOf(await plansOf(/with lost/))).toEqual(['delivery_leased'])
  })

  test('the look-out reads nothing but the indexes of what it looks for', async () => {
    const from = { due: '-infinity', settledMs: 0 }
    await lookOut(capture.pool, { low: 0n, silentMs: 3_600_000, startGraceMs: 0, from })
    const nodes = await plansOf(/min\(d\.ticket\)/)
    const read = nodes.filter((node) => node['Relation Name'] === 'delivery' || node['Relation Name'] === 'lane')
    expect(read.length).toBeGreaterThan(3)
    for (const node of read) expect(node['Node Type']).not.toBe('Seq Scan')
    expect(indexesOf(nodes)).toEqual(expect.arrayContaining(['delivery_leased', 'delivery_scheduled']))
  })

  test('payloads are read by key from the one partition of each event', async () => {
    const ids = events.slice(0, 400)
    expect((await readEventsToSend(capture.pool, ids)).size).toBe(400)
    expect(expectEventsByKey(await plansOf(/x\.payload/))).toBe(400)
  })

  test('the lanes that drain, and what is scheduled at one', async () => {
    await readDrainingLanes(capture.pool, 10)
    const nodes = await plansOf(/l\.draining/)
    expect(nodes.map((node) => node['Index Name'])).toContain('lane_draining')
    const lane = lanes[150]!
    await bench.pool.query('update posthorn.lane set status = 2, draining = true where endpoint_id = $1', [lane])
    expect(await cancelAtClosedLane(capture.pool, lane, 10)).toBe(10)
    const canceled = indexesOf(await plansOf(/insert into posthorn\.attempt/))
    expect(canceled).toEqual(expect.arrayContaining(['delivery_ready', 'delivery_scheduled_lane']))
    // By due_at all that is scheduled would be walked.
    expect(canceled).not.toContain('delivery_scheduled')
    await finishLaneDrain(capture.pool, lane)
    // Whichever finds a row first keeps the others from being looked at.
    const finished = indexesOf(await plansOf(/set draining = false/))
    expect(finished).not.toContain('delivery_pkey')
    expect(finished).not.toContain('delivery_scheduled')
    await bench.pool.query('update posthorn.lane set status = 0, draining = false where endpoint_id = $1', [lane])
  })

  test('what has waited too long', async () => {
    await bench.pool.query('update posthorn.lane set status = 1 where endpoint_id = any($1)', [lanes.slice(160, 170)])
    const options = { maxAgeMs: 86_400_000, lanes: 1_000, rows: 500 }
    const { next } = await expireWaiting(capture.pool, { ...options, from: beforeAllLanes })
    expect(next).not.toBeNull()
    await expireWaiting(capture.pool, { ...options, from: next! })
    const nodes = await plansOf(/with lane as materialized/)
    for (const name of indexesOf(nodes)) expect(['delivery_pkey', 'delivery_ready']).toContain(name)
    await bench.pool.query('update posthorn.lane set status = 0 where endpoint_id = any($1)', [lanes.slice(160, 170)])
  })

  test('a settle that lanes hear of reads each of them by its key', async () => {
    const claims = await claimDeliveries(capture.pool, {
      lanes: lanes.slice(90, 140).map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })),
      limit: 100,
      perLane: 100,
      graceMs: 15_000,
      dispatcherId: bench.dispatcherId,
    })
    const leases = claims.flatMap((claim) => claim.leases)
    expect(leases).toHaveLength(100)
    await capture.take()
    await settle(
      capture.pool,
      leases.map((lease) => settlementOf(lease, { ...failed, reason: 'exhausted', health: 'bad' })),
    )
    const nodes = await plansOf(/insert into posthorn\.attempt/)
    expect(indexesOf(nodes)).toEqual(['delivery_pkey'])
    const read = nodes.filter((node) => node['Relation Name'] === 'lane' && /Scan/.test(node['Node Type']))
    expect(read.length).toBeGreaterThan(0)
    for (const node of read.filter((each) => each['Actual Loops'] !== 0)) {
      expect(node['Index Name']).toBe('lane_pkey')
      expect(node['Actual Rows']).toBeLessThanOrEqual(1)
    }
    await bench.pool.query(
      'update posthorn.lane set failures_in_a_row = 0, window_started_at = null, failing_since = null',
    )
  })
})
