import type pg from 'pg'
import { readCounters } from '../measure/database-counters.ts'
import { mean, median, percentile } from '../measure/statistics.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedEndpoints, seedWaiting } from '../stage/seed.ts'
import { startWorker } from '../stage/worker.ts'
import type { ClaimFunctions, ClaimResult } from '../workers/claims.ts'

const lanes = 10_000
const url = 'http://127.0.0.1:9/'

/** So many dispatchers that make no requests, side by side for so long. @returns what each of them did */
export async function claim(stage: Stage, dispatchers: number, seconds: number): Promise<ClaimResult[]> {
  const measureMs = seconds * 1_000
  return Promise.all(
    Array.from({ length: dispatchers }, async () => {
      const worker = await startWorker<ClaimFunctions>(stage.scope, 'claims.ts')
      const result = await worker.call('run', { databaseUrl: stage.databaseUrl, measureMs }, measureMs + 60_000)
      await worker.stop()
      return result
    }),
  )
}

/** More than a dispatcher claims and settles in a second: what is owed must outlast the time. */
export const mostPerSecond = 40_000

export const ranOut = (): Error => new Error('nothing was left to claim before the time was over')

/** A second, over all of them, without their first second: their code and their plans are cold. */
export const rateOf = (results: readonly ClaimResult[]): number =>
  results.reduce((sum, { perSecond }) => sum + mean(perSecond.slice(1)), 0)

export async function owed(observer: pg.Client): Promise<number> {
  const { rows } = await observer.query<{ n: string }>('select count(*) as n from posthorn.delivery')
  return Number(rows[0]!.n)
}

/** Endpoints of a hundred tenants; nothing listens there. */
export const manyLanes = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ tenant: `t${n % 100}`, url: `${url}${n}` }))

export const claimSettle: Scenario = {
  name: 'claim-settle',
  what: 'claims and settles without requests over 10,000 endpoints, one dispatcher, against four side by side',
  unit: 'deliveries/s',
  yardstick: null,
  targets: [
    { metric: 'one_per_s', is: 'least', value: 20_000, label: '20k/s' },
    { metric: 'four_ratio', is: 'least', value: 1, label: 'four as fast as one' },
  ],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const seconds = stage.options.seconds ?? 8
    // Three times, of which one is four dispatchers', which are no faster.
    const deliveries = seconds * 3 * mostPerSecond
    stage.say(`${deliveries} deliveries at ${lanes} endpoints`)
    const seeded = await seedEndpoints(observer, { endpoints: manyLanes(lanes) })
    await seedWaiting(observer, seeded, deliveries)
    const rates = { one: [] as number[], four: [] as number[] }
    const ones: ClaimResult[] = []
    const before = await readCounters(observer)
    for (const kind of ['one', 'four', 'one'] as const) {
      stage.say(kind === 'one' ? 'one dispatcher' : 'four')
      const results = await claim(stage, kind === 'one' ? 1 : 4, seconds)
      rates[kind].push(rateOf(results))
      if (kind === 'one') ones.push(...results)
    }
    const after = await readCounters(observer)
    const left = await owed(observer)
    if (left === 0) throw ranOut()
    const settled = deliveries - left
    await checkSettled(observer, settled)
    const one = mean(rates.one)
    const metrics = {
      one_per_s: one,
      four_ratio: mean(rates.four) / one,
      wal_bytes_per_delivery: (after.walBytes - before.walBytes) / settled,
      claim_p99_ms: percentile(
        ones.flatMap((each) => each.claimMs),
        0.99,
      ),
    }
    return {
      value: one,
      ratio: null,
      metrics,
      details: {
        ...metrics,
        four_per_s: mean(rates.four),
        claim_p50_ms: median(ones.flatMap((each) => each.claimMs)),
        settle_p50_ms: median(ones.flatMap((each) => each.settleMs)),
        deliveries_settled: settled,
      },
    }
  },
}

/** Each that is not owed any more was logged, once. */
export async function checkSettled(observer: pg.Client, settled: number): Promise<void> {
  const { rows } = await observer.query<{ n: string; different: string }>(
    'select count(*) as n, count(distinct (a.event_id, a.endpoint_id)) as different from posthorn.attempt a where a.state = 4',
  )
  const { n, different } = rows[0]!
  if (Number(n) !== settled || Number(different) !== settled)
    throw new Error(`${settled} deliveries are not owed any more; ${n} attempts were logged, of ${different} of them`)
}
