import { median, percentile, sum } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { openClaimPool, sweepAll } from '../stage/claim.ts'
import { connectObserver } from '../stage/database.ts'
import { seedEndpoints, seedWaiting } from '../stage/seed.ts'
import { checkSettled, claim, manyLanes, mostPerSecond, owed, ranOut, rateOf } from './claims.ts'

const registered = 100_000
const withWork = 10_000
const blocked = 1_000

export const claimMany: Scenario = {
  name: 'claim-many',
  what: 'claims and settles without requests: 100,000 endpoints registered, 10,000 of them with work, 1,000 of those blocked',
  unit: 'ms (p99 of a claim)',
  yardstick: null,
  targets: [{ metric: 'claim_p99_ms', is: 'below', value: 25, label: 'p99 25 ms' }],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const pool = openClaimPool(stage)
    const seconds = stage.options.seconds ?? 20
    const deliveries = seconds * mostPerSecond
    stage.say(`${deliveries} deliveries at ${withWork} of ${registered} endpoints`)
    const seeded = await seedEndpoints(observer, { endpoints: manyLanes(registered) })
    // Evenly among all, as their ids lie in the indexes.
    const busy = seeded.filter((_, at) => at % (registered / withWork) === 0)
    const shut = busy.filter((_, at) => at % (withWork / blocked) === 0).map(({ id }) => id)
    await observer.query(
      `update posthorn.lane l set blocked_until = now() + interval '1 hour', probing = true, breaker_trips = 9
       where l.endpoint_id = any($1::uuid[])`,
      [shut],
    )
    await seedWaiting(observer, busy, deliveries)

    stage.say('sweeping')
    const before = await sweepAll(pool)
    if (before.open.length !== withWork - blocked) throw new Error(`a sweep found ${before.open.length} lanes open`)
    stage.say(`claiming and settling, ${seconds} s`)
    const [result] = await claim(stage, 1, seconds)
    const after = await sweepAll(pool)
    if (after.open.length === 0) throw ranOut()
    await checkSettled(observer, deliveries - (await owed(observer)))
    const { claimMs, settleMs } = result!
    const metrics = {
      claim_p99_ms: percentile(claimMs, 0.99),
      claim_p50_ms: median(claimMs),
      settle_p50_ms: median(settleMs),
      deliveries_per_s: rateOf([result!]),
      whole_sweep_ms: sum(before.stepMs),
      longest_sweep_step_ms: Math.max(...before.stepMs),
      whole_sweep_after_ms: sum(after.stepMs),
    }
    return {
      value: metrics.claim_p99_ms,
      ratio: null,
      metrics,
      details: { claims: claimMs.length, claim_max_ms: Math.max(...claimMs), ...metrics },
    }
  },
}
