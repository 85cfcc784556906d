import {
  beforeOrderedLanes,
  cancel,
  claimDeliveries,
  expireOrdered,
  type LaneClaim,
  reorderLane,
} from '@posthorn/core/sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addLanes, settle, settlementOf, useBench } from './claim-fixture.ts'
import { publishKeyed } from './order-fixture.ts'
import { type Captured, createCapture, type PlanNode } from './plans-capture.ts'

/*
 * The statements of ordered lanes go through the indexes of what is ready, leased, held and a head, and read of them no more
 * than they change, whatever the planner believes: with a key that holds a hundred thousand, and as many heads that wait.
 */

const bench = useBench()
/** By key: with much that is held, and with many heads. Strict: with much that is ready. */
let holding: string
let heads: string
let strict: string

const many = 50_000

beforeAll(async () => {
  const [one, two] = await addLanes(bench.pool, 2, { ordering: 'by_key', maxInFlight: 100 })
  holding = one!
  heads = two!
  strict = (await addLanes(bench.pool, 1, { ordering: 'strict' }))[0]!
  const { rows: tables } = await bench.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  for (const { name } of tables) await bench.pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  // As the tables were when they were analyzed for the last time: a handful of rows, all ready.
  for (const lane of [holding, heads, strict]) await publishKeyed(bench.pool, lane, ['a', 'b', null])
  await bench.pool.query('analyze posthorn.delivery, posthorn.event, posthorn.attempt, posthorn.lane')
  await bench.pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state, order_key, head, place)
     select posthorn.uuid_v7(now() - n * interval '1 ms'), x.lane, nextval('posthorn.ticket'), now(), now() + interval '1 hour',
       x.state, x.key, x.head, x.place
     from generate_series(1, $4::integer) n, lateral (values
       -- One head that waits, with the rest behind it.
       ($1::uuid, (case when n = 1 then 2 else 3 end)::smallint, 7::bigint, n = 1, 0::bigint),
       ($2::uuid, 2::smallint, n::bigint, true, 0::bigint),
       ($3::uuid, 0::smallint, n::bigint, false, null::bigint)
     ) as x(lane, state, key, head, place)`,
    [holding, heads, strict, many],
  )
  for (const lane of [holding, heads]) {
    await publishKeyed(
      bench.pool,
      lane,
      Array.from({ length: 900 }, (_, n) => (n % 3 === 0 ? 'a' : `key ${n}`)),
    )
  }
})

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

  /** The index reads of delivery that really happened, in all statements since the last call. */
  async function reads(): Promise<PlanNode[]> {
    const nodes = (await capture.take()).flatMap((plan) => plan.nodes)
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'delivery')).toEqual([])
    return nodes.filter(
      (node) =>
        /Index/.test(node['Node Type']) && node['Index Name']?.startsWith('delivery') && node['Actual Loops'] !== 0,
    )
  }

  /** How many rows an index gave, and how many were looked at in vain. */
  function rowsOf(nodes: PlanNode[], index: string): number {
    return nodes
      .filter((node) => node['Index Name'] === index)
      .reduce(
        (sum, node) =>
          sum + ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1),
        0,
      )
  }

  const names = (nodes: PlanNode[]) => [...new Set(nodes.map((node) => node['Index Name']!))].sort()

  async function claim(lanes: string[], limit: number): Promise<LaneClaim[]> {
    return claimDeliveries(capture.pool, {
      lanes: lanes.map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })),
      limit,
      perLane: limit,
      graceMs: 15_000,
      dispatcherId: bench.dispatcherId,
      payloadBytes: 1_000_000,
    })
  }

  test('a claim by key, its settle, and the release of the next', async () => {
    const claims = await claim([holding, heads], 40)
    const leases = claims.flatMap((each) => each.leases)
    expect(leases).toHaveLength(40)
    const claimed = await reads()
    expect(names(claimed)).toEqual(['delivery_head', 'delivery_leased', 'delivery_ready'])
    expect(rowsOf(claimed, 'delivery_ready')).toBeLessThanOrEqual(2 * (40 * 2 + 16))
    expect(rowsOf(claimed, 'delivery_head')).toBeLessThanOrEqual(100)

    await settle(
      capture.pool,
      leases.map((lease) => settlementOf(lease)),
    )
    const settled = await reads()
    expect(names(settled)).toEqual(['delivery_held', 'delivery_pkey'])
    expect(rowsOf(settled, 'delivery_held')).toBeLessThanOrEqual(40)
  })

  test('a strict claim, and one of a lane that has become strict', async () => {
    expect((await claim([strict], 40)).flatMap((each) => each.leases)).toHaveLength(1)
    const claimed = await reads()
    expect(names(claimed)).toEqual(['delivery_head', 'delivery_leased', 'delivery_ready'])
    expect(rowsOf(claimed, 'delivery_ready')).toBe(1)
    await bench.pool.query(
      `update posthorn.delivery set state = 0, lease_expires_at = null, dispatcher_id = null, head = false, place = null
       where endpoint_id = $1 and state = 1`,
      [strict],
    )
    await bench.pool.query('update posthorn.lane set ordering = 1 where endpoint_id = $1', [heads])
    // One of its heads is ready, or none.
    const leases = (await claim([heads], 40)).flatMap((each) => each.leases)
    expect(leases.length).toBeLessThanOrEqual(1)
    const read = await reads()
    expect(rowsOf(read, 'delivery_head')).toBeLessThanOrEqual(1_000)
    expect(rowsOf(read, 'delivery_ready')).toBe(0)
    await settle(
      bench.pool,
      leases.map((lease) => settlementOf(lease)),
    )
    await bench.pool.query('update posthorn.lane set ordering = 2 where endpoint_id = $1', [heads])
  })

  test('canceling a head, what has waited too long, a change of the ordering', async () => {
    const { rows } = await bench.pool.query<{ event_id: string }>(
      'select event_id from posthorn.delivery where endpoint_id = $1 and state = 3 order by ticket limit 1',
      [holding],
    )
    const [event] = await publishKeyed(bench.pool, holding, [null])
    expect(await cancel(capture.pool, holding, event!, holding)).toBe('canceled')
    expect(names(await reads())).toEqual(['delivery_pkey'])
    expect(rows).toHaveLength(1)

    await bench.pool.query('update posthorn.lane set status = 1 where endpoint_id = $1', [holding])
    const options = { maxAgeMs: 86_400_000, rows: 200 }
    const { next } = await expireOrdered(capture.pool, { ...options, from: beforeOrderedLanes })
    expect(next).toMatchObject({ endpointId: holding, held: true })
    await expireOrdered(capture.pool, { ...options, from: next! })
    const held = await reads()
    expect(names(held)).toEqual(['delivery_held'])
    expect(rowsOf(held, 'delivery_held')).toBe(400)
    await expireOrdered(capture.pool, { ...options, from: { ...next!, held: false } })
    const ready = await reads()
    expect(names(ready)).toEqual(['delivery_ready'])
    expect(rowsOf(ready, 'delivery_ready')).toBeLessThanOrEqual(200)
    await bench.pool.query('update posthorn.lane set status = 0, reordering = true where endpoint_id = $1', [holding])

    expect(await reorderLane(capture.pool, holding, 100)).toBe('more')
    const back = await reads()
    expect(names(back)).toEqual(['delivery_held'])
    expect(rowsOf(back, 'delivery_held')).toBe(100)
    await bench.pool.query('update posthorn.lane set reordering = false where endpoint_id = $1', [holding])
  })
})
