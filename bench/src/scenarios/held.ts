import { mean, rounded } from '../measure/statistics.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedEndpoints, seedWaiting } from '../stage/seed.ts'
import { claim, manyLanes, mostPerSecond, owed, ranOut } from './claims.ts'

const heldSeconds = 120
const secondsPerPoint = 5

const kinds = ['without', 'reading', 'writing'] as const

/** A transaction that is open all the while: one that has read, or one that has written. */
async function hold(stage: Stage, kind: 'reading' | 'writing'): Promise<() => Promise<void>> {
  const client = await connectObserver(stage.scope, stage.databaseUrl)
  await client.query('begin isolation level repeatable read')
  await client.query(
    kind === 'reading' ? 'select count(*) from posthorn.lane' : `insert into posthorn.tenant (id) values ('held')`,
  )
  return async () => {
    await client.query('rollback')
  }
}

export const held: Scenario = {
  name: 'held',
  what: 'claims and settles a second in the last sixth of two minutes beside an open transaction, against the first sixth',
  unit: 'of the first sixth',
  yardstick: null,
  targets: [
    { metric: 'reading_ratio', is: 'least', value: 0.85, label: 'reading 0.85' },
    { metric: 'writing_ratio', is: 'least', value: 0.85, label: 'writing 0.85' },
  ],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const seconds = stage.options.seconds ?? heldSeconds
    const sixth = Math.max(1, Math.floor(seconds / 6))
    const seeded = await seedEndpoints(observer, { endpoints: manyLanes(1_000) })
    const ratios: Record<string, number> = {}
    const series: Record<string, number[]> = {}
    for (const kind of kinds) {
      stage.say(`${kind === 'without' ? 'no' : `a ${kind}`} transaction held for ${seconds} s`)
      await observer.query('truncate posthorn.delivery')
      await seedWaiting(observer, seeded, seconds * mostPerSecond)
      const letGo = kind === 'without' ? null : await hold(stage, kind)
      const [result] = await claim(stage, 1, seconds)
      await letGo?.()
      if ((await owed(observer)) === 0) throw ranOut()
      const { perSecond } = result!
      // The first second is cold.
      ratios[`${kind}_ratio`] = mean(perSecond.slice(-sixth)) / mean(perSecond.slice(1, 1 + sixth))
      series[`${kind}_per_s`] = Array.from({ length: Math.floor(seconds / secondsPerPoint) }, (_, at) =>
        rounded(mean(perSecond.slice(at * secondsPerPoint, (at + 1) * secondsPerPoint))),
      )
    }
    return {
      value: Math.min(ratios['reading_ratio']!, ratios['writing_ratio']!),
      ratio: null,
      metrics: ratios,
      details: { ...ratios, seconds_per_point: secondsPerPoint, ...series },
    }
  },
}
