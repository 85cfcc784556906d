import { cancel, giveBackDeliveries, promoteDeliveries, reclaimDeliveries, redeliver } from '@posthorn/core/sql'
import { beforeEach, expect, test } from 'vitest'
import {
  addLane,
  claimFrom,
  failed,
  leasesOf,
  scheduled,
  settle,
  settlementOf,
  succeeded,
  useBench,
} from './claim-fixture.ts'
import { orderAt, publishKeyed } from './order-fixture.ts'

const bench = useBench()
let lane: string

beforeEach(async () => {
  lane = await addLane(bench.pool, { ordering: 'by_key', maxInFlight: 10 })
})

const claim = () => leasesOf(bench, [lane])
const ids = (leases: readonly { eventId: string }[]) => leases.map((lease) => lease.eventId)
const promote = () => promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)

test('the first of each key is leased, those behind it are held, and those without a key go as they come', async () => {
  const [a1, a2, b1, none, a3, b2, none2] = await publishKeyed(bench.pool, lane, ['a', 'a', 'b', null, 'a', 'b', null])
  const leases = await claim()
  expect(ids(leases)).toEqual([a1, b1, none, none2])
  expect(leases.map((lease) => lease.head)).toEqual([true, true, false, false])
  const states = Object.fromEntries((await orderAt(bench.pool, lane)).map((row) => [row.event_id, row.state]))
  expect(states).toEqual({ [a1!]: 1, [b1!]: 1, [none!]: 1, [none2!]: 1, [a2!]: 3, [a3!]: 3, [b2!]: 3 })
  expect(await claim()).toEqual([])

  expect((await settle(bench.pool, [settlementOf(leases[0]!)])).rung).toEqual([lane])
  const [second] = await claim()
  expect(second!.eventId).toBe(a2)
  // What is published meanwhile stands behind what is held.
  const [a4] = await publishKeyed(bench.pool, lane, ['a'])
  expect(await claim()).toEqual([])
  await settle(bench.pool, [settlementOf(second!)])
  const [third] = await claim()
  expect(third!.eventId).toBe(a3)
  await settle(bench.pool, [settlementOf(third!)])
  expect(ids(await claim())).toEqual([a4])
})

test('a head that fails keeps its key waiting until it succeeds, and until it is used up', async () => {
  const [a1, a2, a3] = await publishKeyed(bench.pool, lane, ['a', 'a', 'a'])
  for (const end of [succeeded, failed]) {
    const [first] = await claim()
    expect(first!.eventId).toBe(end === succeeded ? a1 : a2)
    await settle(bench.pool, [settlementOf(first!, { ...scheduled, step: 1, waitMs: 0 })])
    expect(await claim()).toEqual([])
    expect((await promote()).count).toBe(1)
    const [again] = await claim()
    expect(again).toMatchObject({ eventId: first!.eventId, number: 2 })
    await settle(bench.pool, [settlementOf(again!, { ...end, reason: end === failed ? 'exhausted' : null })])
  }
  expect(ids(await claim())).toEqual([a3])
})

test('a settle that comes twice lets one go, and not two', async () => {
  const [, a2] = await publishKeyed(bench.pool, lane, ['a', 'a', 'a'])
  const [first] = await claim()
  const settlement = settlementOf(first!)
  await settle(bench.pool, [settlement])
  expect((await settle(bench.pool, [settlement])).rung).toEqual([])
  expect(ids(await claim())).toEqual([a2])
})

test('canceling a head lets the next go; canceling one that is held does not', async () => {
  const [a1, a2, a3] = await publishKeyed(bench.pool, lane, ['a', 'a', 'a'])
  const [first] = await claim()
  expect(await cancel(bench.pool, lane, a1!, lane)).toBe('in_flight')
  expect(await cancel(bench.pool, lane, a2!, lane)).toBe('canceled')
  expect(await claim()).toEqual([])
  await settle(bench.pool, [settlementOf(first!, { ...scheduled, waitMs: 3_600_000 })])
  expect(await claim()).toEqual([])
  expect(await cancel(bench.pool, lane, a1!, lane)).toBe('canceled')
  expect(ids(await claim())).toEqual([a3])
})

test('a redelivery joins the tail of its key, and a scheduled head is only hastened', async () => {
  const [a1, a2, a3] = await publishKeyed(bench.pool, lane, ['a', 'a', 'a'])
  const [first] = await claim()
  await settle(bench.pool, [settlementOf(first!)])
  expect(await redeliver(bench.pool, lane, a1!, lane)).toBe('owed')
  const [second] = await claim()
  expect(second!.eventId).toBe(a2)
  await settle(bench.pool, [settlementOf(second!, { ...scheduled, waitMs: 3_600_000 })])
  expect(await redeliver(bench.pool, lane, a2!, lane)).toBe('owed')
  const order: string[] = []
  for (let [next] = await claim(); next !== undefined; [next] = await claim()) {
    order.push(next.eventId)
    await settle(bench.pool, [settlementOf(next)])
  }
  expect(order).toEqual([a2, a3, a1])
})

test('a lease that is lost, and one that is given back, keep their key', async () => {
  const [a1, a2] = await publishKeyed(bench.pool, lane, ['a', 'a'])
  const [first] = await claim()
  await giveBackDeliveries(bench.pool, [first!])
  const [again] = await claim()
  expect(again).toMatchObject({ eventId: a1, number: 1 })
  const reclaim = async (defaultSteps: number) => {
    await bench.pool.query(
      'update posthorn.delivery set lease_expires_at = now() - interval $$1 s$$ where state = 1 and endpoint_id = $1',
      [lane],
    )
    const options = { low: 0n, silentMs: 3_600_000, graceMs: 15_000, defaultSteps, limit: 50, startGraceMs: 0 }
    return reclaimDeliveries(bench.pool, options)
  }
  await reclaim(9)
  const [third] = await claim()
  expect(third).toMatchObject({ eventId: a1, number: 2 })
  // Used up, it ends, and the next goes.
  expect((await reclaim(0)).rung).toEqual([lane])
  expect(ids(await claim())).toEqual([a2])
})

test('others flow past a stuck key at the full concurrency of the lane', async () => {
  await publishKeyed(
    bench.pool,
    lane,
    Array.from({ length: 1_000 }, () => 'stuck'),
  )
  const others = await publishKeyed(
    bench.pool,
    lane,
    Array.from({ length: 10 }, (_, n) => `key ${n}`),
  )
  const [stuck] = await claim()
  await settle(bench.pool, [settlementOf(stuck!, { ...scheduled, waitMs: 3_600_000 })])
  let leases: string[] = []
  let claims = 0
  while (leases.length < 10 && claims < 100) {
    leases = [...leases, ...ids(await claim())]
    claims++
  }
  expect(leases).toEqual(others)
  // Each goes over many of those that are in the way.
  expect(claims).toBeLessThan(50)
  const [report] = await claimFrom(bench, [lane])
  expect(report).toMatchObject({ room: 0, taken: 0 })
})

test('a claim says what it left', async () => {
  await publishKeyed(bench.pool, lane, ['a', 'a', 'b', 'c', 'd', 'd'])
  const limited = (await claimFrom(bench, [lane], { limit: 2 }))[0]!
  // a1, a2, b1 are out of the way; c1 is the next.
  expect(limited).toMatchObject({ taken: 3, room: 10, limited: false, rewound: 0 })
  expect(limited.leases).toHaveLength(2)
  const rest = (await claimFrom(bench, [lane]))[0]!
  expect(rest).toMatchObject({ taken: 3, room: 8, stuck: false })
  expect(rest.asked).toBeGreaterThan(rest.taken)
})

test('two lanes, one ordered and one not, share a claim', async () => {
  const other = await addLane(bench.pool)
  await publishKeyed(bench.pool, lane, ['a', 'a', 'b'])
  await publishKeyed(bench.pool, other, ['a', 'a', 'b'])
  const claims = await claimFrom(bench, [other, lane], { limit: 10 })
  expect(claims.map((each) => [each.endpointId, each.leases.length, each.rewound])).toEqual([
    [other, 3, null],
    [lane, 2, 0],
  ])
})
