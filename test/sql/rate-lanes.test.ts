import { rateOf } from '@posthorn/core'
import { claimDeliveries } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { addLane, claimFrom, owe, useBench } from './claim-fixture.ts'

/** As many connections as there are claimers at once. */
const bench = useBench(12)

async function limitedLane(limit: number, perSeconds: number): Promise<string> {
  const lane = await addLane(bench.pool, { maxInFlight: 100_000 })
  const { intervalUs, burst } = rateOf(limit, perSeconds)
  await bench.pool.query('update posthorn.lane set rate_interval_us = $2, rate_burst = $3 where endpoint_id = $1', [
    lane,
    intervalUs,
    burst,
  ])
  return lane
}

/**
 * Claims from the lane as a dispatcher does: again when the claim says, or soon when another holds the lane.
 * @returns claims that found it free, and what they took
 */
async function claimer(lane: string, until: number): Promise<{ claims: number; taken: number }> {
  const count = { claims: 0, taken: 0 }
  while (performance.now() < until) {
    const [claim] = await claimFrom(bench, [lane], { limit: 200 })
    if (claim !== undefined) count.claims++
    count.taken += claim?.leases.length ?? 0
    const restMs = claim === undefined ? 4 * Math.random() + 2 : claim.nextMs
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
  }
  return count
}

// Side by side: they wait for tokens.
test.concurrent.each([
  [10, 1, 5_000],
  [200, 1, 3_000],
  [1_000, 1, 3_000],
])('%i in %i s holds over four claimers with a large backlog', async (limit, perSeconds, ms) => {
  const lane = await limitedLane(limit, perSeconds)
  await owe(bench.pool, lane, Math.ceil((limit / perSeconds) * (ms / 1000) * 1.5) + 500)
  const { burst } = rateOf(limit, perSeconds)
  const startedAt = performance.now()
  const counts = await Promise.all(Array.from({ length: 4 }, () => claimer(lane, startedAt + ms)))
  const { rows } = await bench.pool.query<{ taken: number; seconds: number }>(
    `select count(*)::integer as taken,
       extract(epoch from max(d.lease_expires_at) - min(d.lease_expires_at))::float8 as seconds
     from posthorn.delivery d where d.endpoint_id = $1 and d.state = 1`,
    [lane],
  )
  const { taken, seconds } = rows[0]!
  expect(taken).toBe(counts.reduce((sum, count) => sum + count.taken, 0))
  const due = (limit / perSeconds) * seconds
  expect(taken).toBeLessThanOrEqual(due + burst)
  expect(taken).toBeGreaterThanOrEqual(due * 0.9)
  // Nobody polls: a claim for each few tokens, and one of each other claimer.
  const claims = counts.reduce((sum, count) => sum + count.claims, 0)
  expect(claims).toBeLessThan(Math.min(due, (20 * ms) / 1000) * 8 + 40)
})

test('a claim takes no more than the bucket holds, and says when the next is there', async () => {
  const lane = await limitedLane(2, 10)
  await owe(bench.pool, lane, 20)
  const [first] = await claimFrom(bench, [lane])
  expect(first).toMatchObject({ asked: 1, room: 100_000 })
  expect(first!.leases).toHaveLength(1)
  expect(first!.nextMs).toBe(5_000)
  const [second] = await claimFrom(bench, [lane])
  expect(second).toMatchObject({ asked: 0, leases: [] })
  expect(second!.nextMs).toBeGreaterThan(4_000)
  expect(second!.nextMs).toBeLessThanOrEqual(5_000)
  await bench.pool.query(
    `update posthorn.lane set rate_next = rate_next - interval '1 minute' where endpoint_id = $1`,
    [lane],
  )
  expect((await claimFrom(bench, [lane]))[0]!.leases).toHaveLength(1)
})

test('what a lane cannot give costs it no token', async () => {
  const lane = await limitedLane(10, 1)
  const [empty] = await claimFrom(bench, [lane])
  expect(empty).toMatchObject({ leases: [], nextMs: 0 })
  const { rows } = await bench.pool.query('select rate_next from posthorn.lane where endpoint_id = $1', [lane])
  expect(rows).toEqual([{ rate_next: null }])
})

test('limited and other lanes in one claim: each has its own, and only the limited ones are written', async () => {
  const limited = await limitedLane(10, 1)
  const free = await addLane(bench.pool, { maxInFlight: 100 })
  for (const lane of [limited, free]) await owe(bench.pool, lane, 10)
  const versionOf = async (lane: string) =>
    (await bench.pool.query<{ xmin: string }>('select xmin::text from posthorn.lane where endpoint_id = $1', [lane]))
      .rows[0]!.xmin
  const before = [await versionOf(limited), await versionOf(free)]
  const claims = await claimFrom(bench, [limited, free])
  const sizes = new Map(claims.map((claim) => [claim.endpointId, [claim.leases.length, claim.nextMs > 0]]))
  expect(sizes.get(limited)).toEqual([2, true])
  expect(sizes.get(free)).toEqual([10, false])
  expect(await versionOf(limited)).not.toBe(before[0])
  expect(await versionOf(free)).toBe(before[1])
})

test('a lane may be asked for fewer than any', async () => {
  const lanes = [await addLane(bench.pool), await addLane(bench.pool)]
  for (const lane of lanes) await owe(bench.pool, lane, 10)
  const claims = await claimDeliveries(bench.pool, {
    lanes: [
      { endpointId: lanes[0]!, readyFrom: 0n, leasedFrom: 0n, most: 3 },
      { endpointId: lanes[1]!, readyFrom: 0n, leasedFrom: 0n },
    ],
    limit: 100,
    perLane: 100,
    graceMs: 15_000,
    dispatcherId: bench.dispatcherId,
  })
  expect(claims.map((claim) => [claim.endpointId, claim.leases.length, claim.asked])).toEqual([
    [lanes[0], 3, 3],
    [lanes[1], 10, 20],
  ])
})
