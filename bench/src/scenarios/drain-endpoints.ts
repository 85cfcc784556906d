import { measureRawPosts, startReceiver } from '../measure/raw-posts.ts'
import { type StatementCount, type StatementCounter, startStatementCounter, totalCalls } from '../measure/statements.ts'
import { mean } from '../measure/statistics.ts'
import type { Run, Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedBacklog, seedEndpoints } from '../stage/seed.ts'
import { costTargets, drain, ofRaw, ofTen, widthOf } from './drain.ts'
import { checkDrain } from './drain-check.ts'

/** Ten endpoints before and after the others, with the yardstick beside them: a machine that drifts weighs on both. */
const legs = [10, 100, 1_000, 10, 10_000, 100_000, 10]
/** Where there are more, each has a delivery or two, and what these cost is shown but not judged. */
const mostJudged = 10_000
const concurrency = 400

const clear = `truncate posthorn.delivery, posthorn.event, posthorn.attempt, posthorn.lane, posthorn.endpoint_secret,
  posthorn.endpoint`

type Leg = { endpoints: number; rate: number; metrics: Run['metrics']; counts: StatementCount[] | undefined }

export const drainEndpoints: Scenario = {
  name: 'drain-endpoints',
  what: 'the same backlog over 10 to 100,000 endpoints in turn, each drained by one dispatcher with 400 in flight',
  unit: 'deliveries/s (10 endpoints)',
  yardstick: 'raw',
  targets: [
    { metric: 'ratio', is: 'least', value: ofRaw, label: `${ofRaw} of raw` },
    { metric: 'ratio_1000', is: 'least', value: ofTen, label: `1,000 endpoints ${ofTen} of 10` },
    { metric: 'ratio_10000', is: 'least', value: ofTen, label: `10,000 ${ofTen} of 10` },
    { metric: 'statements_per_delivery', is: 'below', value: 0.15, label: '0.15 statements' },
    ...costTargets,
  ],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const { deliveries } = stage.options
    const rawSeconds = Math.min(stage.options.seconds ?? 5, 10)
    const raw: number[] = []
    const done: Leg[] = []

    async function runLeg(endpoints: number, counter: StatementCounter | null): Promise<Leg> {
      stage.say(`owing ${deliveries} deliveries to ${endpoints} endpoints`)
      await observer.query(clear)
      const seeded = await seedEndpoints(observer, {
        endpoints: Array.from({ length: endpoints }, (_, n) => ({ tenant: `t${n}`, url: `${receiver.origin}/${n}` })),
        maxInFlight: widthOf(endpoints),
      })
      await seedBacklog(observer, seeded, deliveries)
      if (endpoints === 10) raw.push(await measureRawPosts(stage, receiver, rawSeconds))
      await counter?.reset()
      const { rate, metrics } = await drain(stage, observer, receiver, { deliveries, concurrency })
      const counts = await counter?.read()
      stage.say(`${Math.round(rate)} deliveries/s; checking every one`)
      await checkDrain(observer, receiver, seeded, deliveries)
      return { endpoints, rate, metrics, counts }
    }

    for (const endpoints of legs) done.push(await runLeg(endpoints, null))
    raw.push(await measureRawPosts(stage, receiver, rawSeconds))
    // By itself, for counting costs some percent.
    const { counts } = await runLeg(10, await startStatementCounter(stage, observer))

    const ten = mean(done.filter(({ endpoints }) => endpoints === 10).map(({ rate }) => rate))
    const judged = done.filter(({ endpoints }) => endpoints <= mostJudged)
    const worst = (metric: string): number => Math.max(...judged.map(({ metrics }) => metrics[metric] ?? Number.NaN))
    const metrics: Run['metrics'] = {
      ratio_1000: besideTen(done, 1_000),
      ratio_10000: besideTen(done, 10_000),
      ...Object.fromEntries(costTargets.map(({ metric }) => [metric, worst(metric)])),
      ...(counts && { statements_per_delivery: totalCalls(counts) / deliveries }),
    }
    return {
      value: ten,
      ratio: ten / mean(raw),
      metrics,
      details: {
        deliveries,
        raw,
        ...metrics,
        by_endpoints: [...new Set(legs)].map((endpoints) => {
          const of = done.filter((leg) => leg.endpoints === endpoints)
          return {
            endpoints,
            per_s: mean(of.map(({ rate }) => rate)),
            ...Object.fromEntries(
              costTargets.map(({ metric }) => [metric, mean(of.map((leg) => leg.metrics[metric] ?? Number.NaN))]),
            ),
          }
        }),
        ...(counts && { statements: [...counts].sort((a, b) => b.calls - a.calls).slice(0, 14) }),
      },
    }
  },
}

/** Against the drains of ten endpoints next before and next after it. */
function besideTen(done: readonly Leg[], endpoints: number): number {
  const at = done.findIndex((leg) => leg.endpoints === endpoints)
  const before = done.findLast((leg, n) => n < at && leg.endpoints === 10)!
  const after = done.find((leg, n) => n > at && leg.endpoints === 10)!
  return done[at]!.rate / mean([before.rate, after.rate])
}
