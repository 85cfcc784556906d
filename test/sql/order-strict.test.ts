import { cancel, giveBackDeliveries, promoteDeliveries, redeliver } from '@posthorn/core/sql'
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
  lane = await addLane(bench.pool, { ordering: 'strict' })
})

const claim = () => leasesOf(bench, [lane])
const promote = () => promoteDeliveries(bench.pool, { due: '-infinity', settledMs: 0 }, 500)
const publish = (count: number) =>
  publishKeyed(
    bench.pool,
    lane,
    Array.from({ length: count }, (_, n) => (n % 2 === 0 ? null : 'a')),
  )

/** Claims and settles until nothing is given. @returns the events, in order */
async function drain(): Promise<string[]> {
  const order: string[] = []
  for (let leases = await claim(); leases.length > 0; leases = await claim()) {
    expect(leases).toHaveLength(1)
    order.push(leases[0]!.eventId)
    await settle(bench.pool, [settlementOf(leases[0]!)])
  }
  return order
}

test('one at a time, in publish order, with and without keys, and nothing is held', async () => {
  const events = await publish(6)
  const [first] = await claim()
  expect(first!.eventId).toBe(events[0])
  expect(await claim()).toEqual([])
  expect((await orderAt(bench.pool, lane)).map((row) => row.state)).toEqual([1, 0, 0, 0, 0, 0])
  await settle(bench.pool, [settlementOf(first!)])
  expect(await drain()).toEqual(events.slice(1))
})

test('a failing head holds back the rest until it succeeds, and until it is used up', async () => {
  const events = await publish(4)
  for (const end of [succeeded, { ...failed, reason: 'exhausted' }]) {
    const [head] = await claim()
    for (let attempt = 1; attempt <= 3; attempt++) {
      await settle(bench.pool, [settlementOf((await claimed(head!.eventId))!, { ...scheduled, waitMs: 0 })])
      const [report] = await claimFrom(bench, [lane])
      expect(report).toMatchObject({ stuck: true, leases: [], nextReady: 0n })
      expect((await promote()).count).toBe(1)
      const [again] = await claim()
      expect(again).toMatchObject({ eventId: head!.eventId, number: attempt + 1 })
    }
    await settle(bench.pool, [settlementOf((await claimed(head!.eventId))!, end)])
  }
  expect(await drain()).toEqual(events.slice(2))
})

/** The lease that is out, as it stands in the database. */
async function claimed(event: string) {
  const { rows } = await bench.pool.query<{ ticket: string; attempts: number; step: number }>(
    'select ticket, attempts, step from posthorn.delivery where event_id = $1 and state = 1',
    [event],
  )
  const row = rows[0]
  return (
    row && {
      eventId: event,
      endpointId: lane,
      ticket: row.ticket,
      number: row.attempts,
      step: row.step,
      fresh: false,
      ageMs: 0,
      version: 1,
      timeoutMs: 15_000,
      watched: false,
      probe: false,
      head: false,
      event: null,
      bytes: null,
    }
  )
}

test('canceling a head that waits lets the next go', async () => {
  const events = await publish(3)
  const [head] = await claim()
  await settle(bench.pool, [settlementOf(head!, { ...scheduled, waitMs: 3_600_000 })])
  expect(await claim()).toEqual([])
  expect(await cancel(bench.pool, lane, events[0]!, lane)).toBe('canceled')
  expect(await drain()).toEqual(events.slice(1))
})

test('a redelivery joins the tail, also of the one that was the head just now', async () => {
  const events = await publish(3)
  const [head] = await claim()
  await settle(bench.pool, [settlementOf(head!)])
  expect(await redeliver(bench.pool, lane, events[0]!, lane)).toBe('owed')
  expect(await drain()).toEqual([events[1], events[2], events[0]])
})

test('a head that is given back goes first, and its watermark is not taken for that of the lane', async () => {
  const events = await publish(3)
  const [head] = await claim()
  await giveBackDeliveries(bench.pool, [head!])
  const [report] = await claimFrom(bench, [lane])
  expect(report!.leases.map((lease) => lease.eventId)).toEqual([events[0]])
  // Its ticket is above those of the others.
  expect(report).toMatchObject({ nextReady: 0n, room: 0, rewound: 0 })
  await settle(bench.pool, [settlementOf(report!.leases[0]!)])
  expect(await drain()).toEqual(events.slice(1))
})

test('strict is not a cap of one: of many claims at once, one gets the lane', async () => {
  await publish(20)
  const claims = await Promise.all(Array.from({ length: 8 }, () => claim()))
  expect(claims.flat()).toHaveLength(1)
})
