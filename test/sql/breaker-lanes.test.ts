import type { Lease } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import {
  addLane,
  claimFrom,
  failed,
  leasesOf,
  owe,
  scheduled,
  settle,
  settlementOf,
  useBench,
} from './claim-fixture.ts'
import { age, bad, good, laneState, leaseAnyway, watchedOf } from './lane-fixture.ts'

const bench = useBench(12)

const mute = (lease: Lease, code: string) =>
  settlementOf(lease, {
    ...scheduled,
    status: null,
    waitMs: 60_000,
    error: { code, phase: 'dns', message: code },
    ...watchedOf(lease),
  })

/** A lane that has just tripped, with `count` deliveries ready. */
async function trippedLane(count = 20): Promise<string> {
  const lane = await addLane(bench.pool)
  await settle(
    bench.pool,
    (await leaseAnyway(bench, lane, 10)).map((lease) => bad(lease)),
  )
  expect(await laneState(bench.pool, lane)).toMatchObject({ probing: true, trips: 1 })
  await owe(bench.pool, lane, count)
  return lane
}

test('ten failures in a row trip the lane: it is blocked for some five seconds, and gives nothing', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 20)
  const leases = await leasesOf(bench, [lane], { limit: 10 })
  for (const lease of leases.slice(0, 9)) await settle(bench.pool, [bad(lease)])
  expect(await laneState(bench.pool, lane)).toMatchObject({ probing: false, failures_in_a_row: 9, blocked_ms: null })
  const { blocked } = await settle(bench.pool, [bad(leases[9]!)])
  const state = await laneState(bench.pool, lane)
  expect(state).toMatchObject({ probing: true, trips: 1, failures_in_a_row: 10 })
  expect(state.blocked_ms).toBeGreaterThan(3_500)
  expect(state.blocked_ms).toBeLessThan(6_000)
  expect(blocked).toEqual([{ endpointId: lane, ms: expect.closeTo(state.blocked_ms!, -2) }])
  expect(await claimFrom(bench, [lane])).toEqual([])
})

test('four failures and a success, over and over, trip it by their rate', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 100 })
  await owe(bench.pool, lane, 60)
  let attempts = 0
  while (!(await laneState(bench.pool, lane)).probing && attempts < 60) {
    const [lease] = await leasesOf(bench, [lane], { limit: 1 })
    attempts++
    await settle(bench.pool, [attempts % 5 === 0 ? good(lease!) : bad(lease!)])
  }
  expect(attempts).toBe(21)
})

test('a healthy lane is not written by its successes; one that failed is, until all is well', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 10)
  const version = async () => {
    const { rows } = await bench.pool.query<{ xmin: string }>(
      'select xmin::text from posthorn.lane where endpoint_id = $1',
      [lane],
    )
    return rows[0]!.xmin
  }
  const claimed = await leasesOf(bench, [lane], { limit: 4 })
  expect(claimed.map((lease) => lease.watched)).toEqual([false, false, false, false])
  const first = await version()
  await settle(bench.pool, claimed.slice(0, 3).map(good))
  expect(await version()).toBe(first)
  await settle(bench.pool, [bad(claimed[3]!)])
  expect(await version()).not.toBe(first)

  const [next] = await leasesOf(bench, [lane], { limit: 1 })
  expect(next!.watched).toBe(true)
  await settle(bench.pool, [good(next!)])
  expect(await laneState(bench.pool, lane)).toMatchObject({
    failures_in_a_row: 0,
    window_attempts: 2,
    failing_ms: null,
  })
  // The window runs for a minute, and a success after it closes it.
  await age(bench.pool, lane, 61_000)
  await settle(bench.pool, (await leasesOf(bench, [lane], { limit: 1 })).map(good))
  expect(await laneState(bench.pool, lane)).toMatchObject({ window_attempts: 0, window_ms: null })
  expect((await leasesOf(bench, [lane], { limit: 1 })).map((lease) => lease.watched)).toEqual([false])
})

test('successes beside a failure of the same settle are counted, whether the lane was watched or not', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 100 })
  await owe(bench.pool, lane, 40)
  const leases = await leasesOf(bench, [lane])
  await settle(
    bench.pool,
    leases.map((lease, at) => (at % 4 === 0 ? bad(lease) : good(lease))),
  )
  expect(await laneState(bench.pool, lane)).toMatchObject({ window_attempts: 40, window_failures: 10 })
})

test('when the block has passed exactly one probe goes out, over eight claimers, and the next after it has ended', async () => {
  const lanes = await Promise.all(Array.from({ length: 6 }, () => trippedLane()))
  for (let round = 0; round < 4; round++) {
    for (const lane of lanes) await age(bench.pool, lane, 1_000_000)
    const claims = await Promise.all(
      Array.from({ length: 8 }, async (_, at) => {
        const mine: Lease[] = []
        for (let turn = 0; turn < 6; turn++)
          mine.push(...(await leasesOf(bench, at % 2 ? lanes : lanes.toReversed(), { limit: 100 })))
        return mine
      }),
    )
    const leases = claims.flat()
    expect(leases.map((lease) => lease.endpointId).sort()).toEqual([...lanes].sort())
    expect(leases.every((lease) => lease.probe && lease.watched)).toBe(true)
    await settle(
      bench.pool,
      leases.map((lease) => bad(lease)),
    )
    for (const lane of lanes) {
      const state = await laneState(bench.pool, lane)
      const most = 5_000 * 2 ** (round + 1)
      expect(state).toMatchObject({ probing: true, trips: round + 2 })
      expect(state.blocked_ms).toBeGreaterThan(most * 0.8 - 1_500)
      expect(state.blocked_ms).toBeLessThan(most * 1.2)
    }
    expect(await leasesOf(bench, lanes)).toEqual([])
  }
})

test('no probe goes out while attempts from before the trip are still in flight', async () => {
  const lane = await trippedLane(5)
  const [stale] = await leaseAnyway(bench, lane, 1)
  await age(bench.pool, lane, 10_000)
  expect((await claimFrom(bench, [lane]))[0]).toMatchObject({ room: 0, leases: [] })
  // And what becomes of it does not block the lane for longer.
  await settle(bench.pool, [bad(stale!)])
  expect(await laneState(bench.pool, lane)).toMatchObject({ trips: 1, failures_in_a_row: 11 })
  expect(await leasesOf(bench, [lane])).toHaveLength(1)
})

test('failures of attempts in flight at the trip prolong nothing', async () => {
  const lane = await trippedLane()
  const stale = await leaseAnyway(bench, lane, 15)
  const before = await laneState(bench.pool, lane, new Date(0))
  for (const lease of stale) await settle(bench.pool, [bad(lease)])
  const after = await laneState(bench.pool, lane, new Date(0))
  expect(after).toMatchObject({ trips: 1, failures_in_a_row: 25, blocked_ms: before.blocked_ms })
})

test('a success while it is blocked is counted, and opens nothing; one after the block closes the breaker', async () => {
  const lane = await trippedLane()
  const [early, late] = await leaseAnyway(bench, lane, 2)
  await settle(bench.pool, [good(early!)])
  expect(await laneState(bench.pool, lane)).toMatchObject({ probing: true, failures_in_a_row: 0, failing_ms: null })
  expect(await leasesOf(bench, [lane])).toEqual([])
  await age(bench.pool, lane, 10_000)
  await settle(bench.pool, [good(late!)])
  expect(await laneState(bench.pool, lane)).toMatchObject({ probing: false, trips: 0, ramp_cap: 2, blocked_ms: null })
})

test('once closed it ramps up: two in flight, then four, up to its own cap', async () => {
  const lane = await trippedLane(200)
  await age(bench.pool, lane, 10_000)
  const sizes: number[] = []
  for (let turn = 0; turn < 6; turn++) {
    const leases = await leasesOf(bench, [lane])
    sizes.push(leases.length)
    await settle(bench.pool, leases.map(good))
  }
  expect(sizes).toEqual([1, 2, 4, 8, 16, 20])
  expect(await laneState(bench.pool, lane)).toMatchObject({ ramp_cap: null, probing: false })
})

test('throttling answers halve what the lane may have in flight, once a settle, and successes give it back', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 200)
  const sizes: number[] = []
  for (const status of [429, 502, 503]) {
    const leases = await leasesOf(bench, [lane])
    sizes.push(leases.length)
    const [throttled, ...rest] = leases
    await settle(bench.pool, [bad(throttled!, { status }), ...rest.map(good)])
  }
  for (let turn = 0; turn < 4; turn++) {
    const leases = await leasesOf(bench, [lane])
    sizes.push(leases.length)
    await settle(bench.pool, leases.map(good))
  }
  expect(sizes).toEqual([20, 10, 5, 2, 4, 8, 16])
  // A 500 is a failure, but says nothing of too much.
  await age(bench.pool, lane, 100_000)
  const [other] = await leasesOf(bench, [lane], { limit: 1 })
  await settle(bench.pool, [bad(other!)])
  expect((await laneState(bench.pool, lane)).ramp_cap).toBeNull()
})

test('a cap lowered while the lane ramps up holds', async () => {
  const lane = await trippedLane(50)
  await bench.pool.query(
    'update posthorn.lane set probing = false, blocked_until = null, ramp_cap = 16, max_in_flight = 3',
  )
  expect(await leasesOf(bench, [lane])).toHaveLength(3)
})

test('a failure after five days without a success disables the endpoint; a blip does not', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 30)
  const take = async () => (await leasesOf(bench, [lane], { limit: 1 }))[0]!
  await settle(bench.pool, [bad(await take())])
  await age(bench.pool, lane, 4.9 * 86_400_000)
  await settle(bench.pool, [bad(await take())])
  expect((await laneState(bench.pool, lane)).status).toBe(0)
  // A success starts the count again.
  await settle(bench.pool, [good(await take())])
  await age(bench.pool, lane, 5.1 * 86_400_000)
  await settle(bench.pool, [bad(await take())])
  expect((await laneState(bench.pool, lane)).status).toBe(0)
  await age(bench.pool, lane, 5.1 * 86_400_000)
  // Faults of ours disable nothing.
  await settle(bench.pool, [mute(await take(), 'dns_failed')])
  expect((await laneState(bench.pool, lane)).status).toBe(0)
  await settle(bench.pool, [bad(await take())])
  expect(await laneState(bench.pool, lane)).toMatchObject({ status: 2, draining: true })
  const { rows } = await bench.pool.query(
    `select e.status, e.disabled_reason, e.version = l.version as agree
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.id = $1`,
    [lane],
  )
  expect(rows).toEqual([{ status: 'disabled', disabled_reason: 'failing', agree: true }])
})

test('faults of ours never count: not in a row, not in a rate, not in days', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 100 })
  await owe(bench.pool, lane, 60)
  const leases = await leasesOf(bench, [lane])
  for (const [at, code] of ['dns_failed', 'local_limit', 'internal'].entries()) {
    await settle(
      bench.pool,
      leases.slice(at * 20, at * 20 + 20).map((lease) => mute(lease, code)),
    )
  }
  expect(await laneState(bench.pool, lane)).toMatchObject({
    failures_in_a_row: 0,
    window_attempts: 0,
    probing: false,
    failing_ms: null,
  })
})

test('a lease that was lost says nothing to its lane', async () => {
  const lane = await addLane(bench.pool)
  const leases = await leaseAnyway(bench, lane, 12)
  await bench.pool.query(`update posthorn.delivery set ticket = nextval('posthorn.ticket') where endpoint_id = $1`, [
    lane,
  ])
  const { superseded } = await settle(
    bench.pool,
    leases.map((lease) => bad(lease, failed)),
  )
  expect(superseded).toHaveLength(12)
  expect(await laneState(bench.pool, lane)).toMatchObject({ failures_in_a_row: 0, probing: false, failing_ms: null })
})

test('a settle sent twice is counted once', async () => {
  const lane = await addLane(bench.pool)
  const items = (await leaseAnyway(bench, lane, 6)).map((lease) => bad(lease))
  await settle(bench.pool, items)
  await settle(bench.pool, items)
  expect(await laneState(bench.pool, lane)).toMatchObject({ failures_in_a_row: 6, window_attempts: 6, probing: false })
})
