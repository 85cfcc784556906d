import {
  beforeOrderedLanes,
  cancelAtClosedLane,
  claimDeliveries,
  expireOrdered,
  expireWaiting,
  finishLaneDrain,
  promoteDeliveries,
  readReorderingLanes,
  reorderLane,
} from '@posthorn/core/sql'
import { afterEach, expect, test } from 'vitest'
import { addLane, failed, leasesOf, loggedAt, scheduled, settle, settlementOf, useBench } from './claim-fixture.ts'
import { finish, recover } from './job-fixture.ts'
import { orderAt, publishKeyed } from './order-fixture.ts'

/* What happens to a whole ordered lane: it is closed and opened, what waits there grows too old, its ordering is changed. */

const bench = useBench()

afterEach(async () => {
  await bench.pool.query('delete from posthorn.delivery')
})

async function drainInOrder(lane: string): Promise<string[]> {
  const order: string[] = []
  for (let leases = await leasesOf(bench, [lane]); leases.length > 0; leases = await leasesOf(bench, [lane])) {
    order.push(...leases.map((lease) => lease.eventId))
    await settle(
      bench.pool,
      leases.map((lease) => settlementOf(lease)),
    )
  }
  return order
}

const setLane = (lane: string, change: string) =>
  bench.pool.query(`update posthorn.lane set ${change} where endpoint_id = $1`, [lane])

test('an endpoint that is enabled again halfway through its draining has nothing held without a head', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key', maxInFlight: 2 })
  const events = await publishKeyed(bench.pool, lane, ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'])
  const [a, b] = await leasesOf(bench, [lane])
  await settle(bench.pool, [settlementOf(a!, { ...scheduled, waitMs: 3_600_000 })])
  await leasesOf(bench, [lane])
  await setLane(lane, 'status = 2, draining = true')
  // Two of what is held; its head waits on.
  expect(await cancelAtClosedLane(bench.pool, lane, 2)).toBe(2)
  const left = await orderAt(bench.pool, lane)
  expect(left).toHaveLength(events.length - 2)
  await setLane(lane, 'status = 0, draining = false')
  await settle(bench.pool, [settlementOf(b!)])
  await bench.pool.query('update posthorn.delivery set due_at = now() where state = 2')
  await promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)
  const out = (await bench.pool.query('select event_id from posthorn.delivery where state = 1')).rows.length
  expect(await drainInOrder(lane)).toHaveLength(left.length - 1 - out)
})

test('a lane that stays closed is drained whole', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key' })
  await publishKeyed(bench.pool, lane, ['a', 'a', 'a', 'b', null])
  const leases = await leasesOf(bench, [lane])
  await setLane(lane, 'status = 2, draining = true')
  await cancelAtClosedLane(bench.pool, lane, 100)
  expect(await finishLaneDrain(bench.pool, lane)).toBe(false)
  // What would be tried again is canceled, and what it would have let go was canceled before.
  await settle(
    bench.pool,
    leases.map((lease) => settlementOf(lease, { ...scheduled, waitMs: 1_000 })),
  )
  await cancelAtClosedLane(bench.pool, lane, 100)
  expect(await finishLaneDrain(bench.pool, lane)).toBe(true)
  expect(await orderAt(bench.pool, lane)).toEqual([])
  expect((await loggedAt(bench.pool, [lane])).filter((row) => row.state === 6)).toHaveLength(5)
})

const maxAgeMs = 3_600_000

async function expireAll(rows = 2): Promise<number> {
  let expired = 0
  for (let from: typeof beforeOrderedLanes | null = beforeOrderedLanes; from !== null; ) {
    const step = await expireOrdered(bench.pool, { from, maxAgeMs, rows })
    expired += step.expired
    from = step.next
  }
  return expired
}

const grow = (events: readonly (string | undefined)[]) =>
  bench.pool.query(`update posthorn.delivery set owed_at = now() - interval '2 hours' where event_id = any($1)`, [
    events,
  ])

test('what has waited too long at a lane that waits expires, held or not, and the end of a head lets the next go', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key' })
  const [a1, a2, a3, a4, b1, b2, none] = await publishKeyed(bench.pool, lane, ['a', 'a', 'a', 'a', 'b', 'b', null])
  const leases = await leasesOf(bench, [lane])
  // Two heads that wait for their retry; they are ready soon.
  await settle(
    bench.pool,
    leases.filter((lease) => lease.head).map((lease) => settlementOf(lease, { ...scheduled, waitMs: 0 })),
  )
  await promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)
  await grow([a1, a3, b2])
  // Not at a lane that is claimed from: there the claim meets it.
  expect(await expireAll()).toBe(0)
  await setLane(lane, 'status = 1')
  expect(
    (await expireWaiting(bench.pool, { from: { endpointId: lane, ticket: 0n }, maxAgeMs, lanes: 1, rows: 100 }))
      .expired,
  ).toBe(0)
  expect(await expireAll()).toBe(3)
  expect(
    (await loggedAt(bench.pool, [lane])).filter((row) => row.reason === 'expired').map((row) => row.event_id),
  ).toEqual([a1, a3, b2].sort())
  const left = await orderAt(bench.pool, lane)
  expect(left.map((row) => [row.event_id, row.state, row.head])).toEqual([
    [a2, 0, true],
    [a4, 3, false],
    [b1, 0, true],
    [none, 1, false],
  ])
  await setLane(lane, 'status = 0')
  expect(await drainInOrder(lane)).toEqual([b1, a2, a4])
})

test('a long line that is too old goes whole, in small steps', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key', status: 0 })
  const strict = await addLane(bench.pool, { ordering: 'strict', status: 1 })
  const events = await publishKeyed(
    bench.pool,
    lane,
    Array.from({ length: 30 }, (_, n) => (n % 10 === 9 ? 'b' : 'a')),
  )
  const more = await publishKeyed(bench.pool, strict, [null, null, 'a'])
  const [a] = await leasesOf(bench, [lane], { limit: 1 })
  await settle(bench.pool, [settlementOf(a!, { ...scheduled, waitMs: 0 })])
  await promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)
  await leasesOf(bench, [lane], { limit: 1 })
  await setLane(lane, 'status = 1')
  await grow([...events, ...more])
  const leased = (await orderAt(bench.pool, lane)).filter((row) => row.state === 1).length
  expect(await expireAll(3)).toBe(events.length + more.length - leased)
})

async function change(lane: string, to: 'none' | 'strict' | 'by_key'): Promise<void> {
  await setLane(lane, `ordering = ${['none', 'strict', 'by_key'].indexOf(to)}, reordering = true`)
  expect(await readReorderingLanes(bench.pool, 10)).toEqual([lane])
}

test('a change to an ordering waits for what is in flight, and then holds for all that was owed before', async () => {
  const lane = await addLane(bench.pool)
  const events = await publishKeyed(bench.pool, lane, ['a', 'b', 'a', 'b', 'a', 'a'])
  const leases = await leasesOf(bench, [lane], { limit: 2 })
  await change(lane, 'by_key')
  expect(await leasesOf(bench, [lane])).toEqual([])
  expect(await reorderLane(bench.pool, lane, 100)).toBe('waiting')
  await settle(bench.pool, [settlementOf(leases[0]!)])
  expect(await reorderLane(bench.pool, lane, 100)).toBe('waiting')
  // The other is to be tried again: as it falls due, behind those that were never tried.
  await settle(bench.pool, [settlementOf(leases[1]!, { ...scheduled, waitMs: 0 })])
  expect(await reorderLane(bench.pool, lane, 100)).toBe('done')
  expect(await readReorderingLanes(bench.pool, 10)).toEqual([])
  await promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)
  const order = await drainInOrder(lane)
  const of = (...places: number[]) => places.map((at) => events[at])
  expect(order.filter((event) => of(2, 4, 5).includes(event))).toEqual(of(2, 4, 5))
  expect(order.filter((event) => of(3, 1).includes(event))).toEqual(of(3, 1))
})

test('from by key to strict: what was held comes back where it stood, below what is known to be empty', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key', maxInFlight: 2 })
  const events = await publishKeyed(bench.pool, lane, ['a', 'a', 'a', 'b', 'b', 'c', 'a', 'd', 'b'])
  // a1 and b1 are leased; a2, a3 and b2 are held; the rest is ready.
  const claims = await claimDeliveries(bench.pool, {
    lanes: [{ endpointId: lane, readyFrom: 0n, leasedFrom: 0n, safeFrom: 0n, rewound: 0 }],
    limit: 2,
    perLane: 2,
    graceMs: 15_000,
    dispatcherId: bench.dispatcherId,
  })
  const [claim] = claims
  expect((await orderAt(bench.pool, lane)).map((row) => row.state)).toEqual([1, 3, 3, 1, 3, 0, 0, 0, 0])
  await change(lane, 'strict')
  expect(await reorderLane(bench.pool, lane, 2)).toBe('more')
  expect(await leasesOf(bench, [lane])).toEqual([])
  expect(await reorderLane(bench.pool, lane, 2)).toBe('waiting')
  await settle(
    bench.pool,
    claim!.leases.map((lease) => settlementOf(lease)),
  )
  expect(await reorderLane(bench.pool, lane, 2)).toBe('done')
  // A dispatcher that knew the lane as it was.
  const again = await claimDeliveries(bench.pool, {
    lanes: [{ endpointId: lane, readyFrom: claim!.nextReady, leasedFrom: 0n, safeFrom: claim!.nextReady, rewound: 0 }],
    limit: 2,
    perLane: 2,
    graceMs: 15_000,
    dispatcherId: bench.dispatcherId,
  })
  expect(again[0]).toMatchObject({ rewound: 1 })
  expect(again[0]!.leases.map((lease) => lease.eventId)).toEqual([events[1]])
  await settle(
    bench.pool,
    again[0]!.leases.map((lease) => settlementOf(lease)),
  )
  expect(await drainInOrder(lane)).toEqual([2, 4, 5, 6, 7, 8].map((at) => events[at]))
})

test('to no order: the lane goes on meanwhile, and nothing stays held', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key' })
  await publishKeyed(bench.pool, lane, ['a', 'a', 'a', 'b', 'b'])
  await leasesOf(bench, [lane])
  await change(lane, 'none')
  await publishKeyed(bench.pool, lane, ['a', 'a'])
  expect(await leasesOf(bench, [lane])).toHaveLength(2)
  expect(await reorderLane(bench.pool, lane, 2)).toBe('more')
  expect(await reorderLane(bench.pool, lane, 2)).toBe('done')
  expect(await leasesOf(bench, [lane])).toHaveLength(3)
})

test('what a recovery owes again keeps the order of its keys', async () => {
  const lane = await addLane(bench.pool, { ordering: 'by_key' })
  const events = await publishKeyed(bench.pool, lane, ['a', 'b', 'a', 'a', 'b', null])
  for (let leases = await leasesOf(bench, [lane]); leases.length > 0; leases = await leasesOf(bench, [lane])) {
    await settle(
      bench.pool,
      leases.map((lease) => settlementOf(lease, { ...failed, reason: 'exhausted' })),
    )
  }
  const { id } = await recover(bench.pool, { tenant: lane, endpoint: lane }, { states: ['failed'] })
  expect(await finish(bench.pool, id, 2)).toMatchObject({ status: 'done', done: events.length })
  expect((await orderAt(bench.pool, lane)).map((row) => row.keyed)).toEqual([true, true, true, true, true, false])
  const order = await drainInOrder(lane)
  const of = (...places: number[]) => places.map((at) => events[at])
  expect(order.filter((event) => of(0, 2, 3).includes(event))).toEqual(of(0, 2, 3))
  expect(order.filter((event) => of(1, 4).includes(event))).toEqual(of(1, 4))
})
