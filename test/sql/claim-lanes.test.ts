import { claimDeliveries } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { beginHot } from '../../packages/core/src/sql/planner-guards.ts'
import { eventually } from '../support/wait.ts'
import { addLane, addLanes, claimFrom, leasesOf, owe, owedAt, useBench } from './claim-fixture.ts'

const bench = useBench()

test('a claim leases the oldest first, each with a new ticket, an end on the clock of the database, and a number', async () => {
  const lane = await addLane(bench.pool, { timeoutMs: 4_000 })
  const events = await owe(bench.pool, lane, 5)
  const before = await owedAt(bench.pool, [lane])
  const [claim] = await claimFrom(bench, [lane], { limit: 3, graceMs: 2_000 })
  expect(claim!.leases.map((lease) => lease.eventId).sort()).toEqual(events.slice(0, 3).sort())
  expect(claim!.nextReady).toBe(BigInt(before[2]!.ticket) + 1n)
  expect(claim!.lowestLeased! > BigInt(before[4]!.ticket)).toBe(true)
  expect(claim!.leases.every((lease) => lease.number === 1 && lease.step === 0 && lease.timeoutMs === 4_000)).toBe(true)
  const { rows } = await bench.pool.query<{ ms: number; dispatcher_id: number }>(
    `select (extract(epoch from lease_expires_at - now()) * 1000)::double precision as ms, dispatcher_id
     from posthorn.delivery where endpoint_id = $1 and state = 1`,
    [lane],
  )
  for (const row of rows) {
    expect(row.dispatcher_id).toBe(bench.dispatcherId)
    expect(row.ms).toBeGreaterThan(4_000)
    expect(row.ms).toBeLessThanOrEqual(6_000)
  }
})

test('a lane gives no more than its room, and leases that are there count', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 3 })
  await owe(bench.pool, lane, 9)
  expect(await leasesOf(bench, [lane], { limit: 2 })).toHaveLength(2)
  expect(await leasesOf(bench, [lane])).toHaveLength(1)
  const [claim] = await claimFrom(bench, [lane])
  expect(claim).toMatchObject({ leases: [], room: 0, asked: 0, nextReady: 0n })
  await bench.pool.query('update posthorn.lane set max_in_flight = 1 where endpoint_id = $1', [lane])
  expect((await claimFrom(bench, [lane]))[0]).toMatchObject({ leases: [], room: -2, asked: 0 })
  await bench.pool.query('update posthorn.lane set max_in_flight = 5 where endpoint_id = $1', [lane])
  expect(await leasesOf(bench, [lane])).toHaveLength(2)
})

test('no more than the limit, of all lanes together', async () => {
  const lanes = await addLanes(bench.pool, 5)
  for (const lane of lanes) await owe(bench.pool, lane, 5)
  for (const limit of [1, 7, 10]) expect(await leasesOf(bench, lanes, { limit })).toHaveLength(limit)
})

test('lanes are served in the order asked, whatever their ids, so that a limit starves none of them', async () => {
  const lanes = await addLanes(bench.pool, 8, { maxInFlight: 1_000 })
  for (const lane of lanes) await owe(bench.pool, lane, 40)
  for (const order of [lanes.toSorted(), lanes.toSorted().reverse()]) {
    const claims = await claimFrom(bench, order, { limit: 8 })
    expect(claims.map((claim) => claim.endpointId)).toEqual(order)
    // Twice the fair share each, to those who come first.
    expect(claims.map((claim) => claim.leases.length)).toEqual([2, 2, 2, 2, 0, 0, 0, 0])
  }
})

test('a lane that is paused, disabled, deleted or blocked gives nothing; one whose block is over gives', async () => {
  for (const status of [1, 2, 3] as const) {
    const lane = await addLane(bench.pool, { status })
    await owe(bench.pool, lane)
    expect(await claimFrom(bench, [lane])).toEqual([])
  }
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  await bench.pool.query(`update posthorn.lane set blocked_until = now() + interval '1 hour' where endpoint_id = $1`, [
    lane,
  ])
  expect(await claimFrom(bench, [lane])).toEqual([])
  await bench.pool.query(`update posthorn.lane set blocked_until = now() where endpoint_id = $1`, [lane])
  expect(await leasesOf(bench, [lane])).toHaveLength(1)
})

test('a lane locked by another transaction is passed over, not waited for; the others are served', async () => {
  const [held, free] = await addLanes(bench.pool, 2)
  await owe(bench.pool, held!)
  await owe(bench.pool, free!)
  const holder = await bench.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select from posthorn.lane where endpoint_id = $1 for no key update', [held])
    expect((await claimFrom(bench, [held!, free!])).map((claim) => claim.endpointId)).toEqual([free])
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  expect(await leasesOf(bench, [held!])).toHaveLength(1)
})

test('a row that a cancel holds is passed over, and is there for the next claim when the cancel rolls back', async () => {
  const lane = await addLane(bench.pool)
  const [first, second] = await owe(bench.pool, lane, 2)
  const holder = await bench.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('delete from posthorn.delivery where event_id = $1 and endpoint_id = $2', [first, lane])
    expect((await leasesOf(bench, [lane])).map((lease) => lease.eventId)).toEqual([second])
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  expect((await leasesOf(bench, [lane])).map((lease) => lease.eventId)).toEqual([first])
})

test('a claim that fails leaves nothing leased and no lock behind', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  await expect(
    claimDeliveries(bench.pool, {
      lanes: [{ endpointId: lane, readyFrom: 0n, leasedFrom: 0n }],
      limit: 10,
      perLane: 10,
      // Past what a timestamp can hold.
      graceMs: 2_147_483_000,
      dispatcherId: 2 ** 40,
    }),
  ).rejects.toThrow()
  expect((await owedAt(bench.pool, [lane])).map((row) => row.state)).toEqual([0, 0, 0])
  expect(await leasesOf(bench, [lane])).toHaveLength(3)
})

test('a dispatcher that stalls in the middle of a claim loses its locks after seconds, not hours', async () => {
  const pool = bench.poolOf(1)
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const stalled = await pool.connect()
  const ended = new Promise<Error>((resolve) => stalled.once('error', resolve))
  await stalled.query(beginHot)
  await stalled.query('select from posthorn.lane where endpoint_id = $1 for no key update', [lane])
  expect(await claimFrom(bench, [lane])).toEqual([])
  const error = await ended
  expect(error).toMatchObject({ code: '25P03' })
  stalled.release(error)
  await eventually(async () => (await leasesOf(bench, [lane])).length === 1, 2_000)
}, 15_000)
