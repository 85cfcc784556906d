import type { Settlement } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import {
  addLanes,
  failed,
  leasesOf,
  owe,
  randomOf,
  scheduled,
  settle,
  settlementOf,
  useBench,
} from './claim-fixture.ts'

const bench = useBench(24)

async function deadlocks(): Promise<number> {
  const { rows } = await bench.pool.query<{ n: string }>(
    'select deadlocks as n from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]!.n)
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const mixed = [...items]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const held = mixed[at]!
    mixed[at] = mixed[other]!
    mixed[other] = held
  }
  return mixed
}

/** As the API changes an endpoint: the lane first, then the endpoint. */
async function changeEndpoint(lane: string): Promise<void> {
  const client = await bench.pool.connect()
  try {
    await client.query('begin')
    await client.query('select version from posthorn.lane where endpoint_id = $1 for no key update', [lane])
    await client.query('update posthorn.endpoint set version = version + 1 where id = $1', [lane])
    await client.query('update posthorn.lane set version = version + 1 where endpoint_id = $1', [lane])
    await client.query('commit')
  } finally {
    client.release()
  }
}

test('settles that update the same lanes in any order, and repeats of each other, never deadlock', async () => {
  const random = randomOf(7)
  for (let round = 0; round < 12; round++) {
    const lanes = await addLanes(bench.pool, 5, { maxInFlight: 100 })
    for (const lane of lanes) await owe(bench.pool, lane, 30)
    const leases = await leasesOf(bench, lanes, { limit: 200 })
    const items = leases.map((lease, at): Settlement => {
      if (at % 3 === 0)
        return settlementOf(lease, { ...scheduled, status: 429, step: 1, waitMs: 60_000, laneWaitMs: 1 + at })
      if (at % 31 === 1) return settlementOf(lease, { ...failed, status: 410, reason: 'gone', gone: true })
      return settlementOf(lease)
    })
    const mixed = shuffled(items, random)
    const half = Math.floor(mixed.length / 2)
    const batches = [mixed.slice(0, half), mixed.slice(half), shuffled(mixed, random), mixed.toReversed()]
    await Promise.all([
      ...batches.map((batch) => settle(bench.pool, batch)),
      ...lanes.map((lane) => leasesOf(bench, [lane])),
      ...lanes.map(changeEndpoint),
    ])
    const { rows } = await bench.pool.query<{ n: number; late: number }>(
      `select count(*)::integer as n, count(*) filter (where outcome = 4)::integer as late from posthorn.attempt
       where endpoint_id = any($1)`,
      [lanes],
    )
    expect(rows[0]).toEqual({ n: leases.length, late: 0 })
  }
  expect(await deadlocks()).toBe(0)
}, 40_000)
