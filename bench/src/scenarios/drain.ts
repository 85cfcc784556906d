import type pg from 'pg'
import { readCounters } from '../measure/database-counters.ts'
import { mostRssMiB, readUsage } from '../measure/process-usage.ts'
import { measureRawPosts, type Receiver, startReceiver } from '../measure/raw-posts.ts'
import { startStatementCounter, totalCalls } from '../measure/statements.ts'
import { mean } from '../measure/statistics.ts'
import type { Run, Scenario, Stage, Target } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { startDispatcher } from '../stage/posthorn-process.ts'
import { seedBacklog, seedEndpoints } from '../stage/seed.ts'
import { until } from '../stage/wait.ts'
import { sharedNow } from '../workers/clock.ts'
import { checkDrain } from './drain-check.ts'

export type DrainSettings = {
  name: string
  endpoints: number
  /** POSTHORN_CONCURRENCY; null is the product's default, 256. */
  concurrency: number | null
  byDefault: boolean
}

/** Ten lanes of the default 20 would leave half of the dispatcher's slots empty: few endpoints get wider ones. */
export const widthOf = (endpoints: number): number => (endpoints <= 10 ? 100 : 20)

/** What ten endpoints are to reach, and what of it any number of them. */
export const ofRaw = 0.55
export const ofTen = 0.9

/** What one delivery may cost at saturation. */
export const costTargets: readonly Target[] = [
  { metric: 'wal_bytes_per_delivery', is: 'below', value: 1.2 * 1_024, label: '1.2 KiB of WAL' },
  { metric: 'commits_per_100', is: 'below', value: 1.5, label: '1.5 commits per 100' },
  { metric: 'dispatcher_peak_rss_mib', is: 'below', value: mostRssMiB, label: `${mostRssMiB} MiB` },
]

/** Not counted: the dispatcher's code is cold, and its connections are being made. */
const warmUpShare = 0.05

export function createDrain(settings: DrainSettings): Scenario {
  const { endpoints, concurrency } = settings
  const maxInFlight = widthOf(endpoints)
  const wanted = endpoints > 10 ? ofRaw * ofTen : ofRaw
  return {
    name: settings.name,
    what: `a backlog over ${endpoints.toLocaleString('en')} endpoints, drained by one dispatcher with ${concurrency ?? 256} in flight`,
    unit: 'deliveries/s',
    yardstick: 'raw',
    targets: [{ metric: 'ratio', is: 'least', value: wanted, label: `${wanted} of raw` }, ...costTargets],
    byDefault: settings.byDefault,
    async run(stage) {
      const observer = await connectObserver(stage.scope, stage.databaseUrl)
      const receiver = await startReceiver(stage)
      const { deliveries } = stage.options
      stage.say(`owing ${deliveries} deliveries to ${endpoints} endpoints`)
      const seeded = await seedEndpoints(observer, {
        endpoints: Array.from({ length: endpoints }, (_, n) => ({ tenant: `t${n}`, url: `${receiver.origin}/${n}` })),
        maxInFlight,
      })
      await seedBacklog(observer, seeded, deliveries)

      const rawSeconds = Math.min(stage.options.seconds ?? 5, 10)
      stage.say('raw, before')
      const rawBefore = await measureRawPosts(stage, receiver, rawSeconds)
      stage.say('draining')
      const counter = stage.profileDir === null ? null : await startStatementCounter(stage, observer)
      const drained = await drain(stage, observer, receiver, { deliveries, concurrency })
      const counts = await counter?.read()
      stage.say(`${Math.round(drained.rate)} deliveries/s; checking every one`)
      await checkDrain(observer, receiver, seeded, deliveries)
      stage.say('raw, after')
      const rawAfter = await measureRawPosts(stage, receiver, rawSeconds)
      const rawRate = mean([rawBefore, rawAfter])
      return {
        value: drained.rate,
        ratio: drained.rate / rawRate,
        metrics: drained.metrics,
        details: {
          deliveries,
          endpoints,
          max_in_flight: maxInFlight,
          concurrency: concurrency ?? '256 (default)',
          raw_before: rawBefore,
          raw_after: rawAfter,
          ...drained.metrics,
          ...(counts && {
            statements_per_delivery: totalCalls(counts) / deliveries,
            statements: counts.slice(0, 12),
          }),
        },
      }
    },
  }
}

type Drained = { rate: number; metrics: Run['metrics'] }

/** Drains what is owed, so many deliveries, by one dispatcher. */
export async function drain(
  stage: Stage,
  observer: pg.Client,
  receiver: Receiver,
  { deliveries, concurrency }: { deliveries: number; concurrency: number | null },
): Promise<Drained> {
  const deadlineMs = 60_000 + deliveries * 2
  const warmUp = Math.max(1, Math.floor(deliveries * warmUpShare))
  await receiver.worker.call('reset', undefined, 10_000)
  const before = await readCounters(observer)
  const dispatcher = await startDispatcher(stage, observer, concurrency === null ? {} : { concurrency })
  try {
    const received = (count: number): Promise<void> =>
      dispatcher.whileAlive(receiver.worker.call('waitFor', count, deadlineMs))
    await received(warmUp)
    const warm = readUsage(dispatcher.pid)
    const startedAt = await receiver.worker.call('momentOf', warmUp, 10_000)
    await received(deliveries)
    await until(() => nothingOwed(observer), { everyMs: 5, timeoutMs: 60_000, what: 'the settling of the last' })
    const endedAt = sharedNow()
    const done = readUsage(dispatcher.pid)
    await dispatcher.stop()
    const after = await readCounters(observer)

    const counted = deliveries - warmUp
    const metrics: Run['metrics'] = {
      wal_bytes_per_delivery: (after.walBytes - before.walBytes) / deliveries,
      full_page_images_per_1000: ((after.fullPageImages - before.fullPageImages) * 1_000) / deliveries,
      commits_per_100: ((after.commits - before.commits) * 100) / deliveries,
    }
    if (warm && done) {
      metrics['dispatcher_cpu_us_per_delivery'] = ((done.cpuSeconds - warm.cpuSeconds) * 1e6) / counted
      metrics['dispatcher_cores'] = ((done.cpuSeconds - warm.cpuSeconds) * 1_000) / (endedAt - startedAt)
      metrics['dispatcher_peak_rss_mib'] = done.peakRssMiB
    }
    const receiverUsage = readUsage(receiver.worker.pid)
    if (receiverUsage) metrics['receiver_peak_rss_mib'] = receiverUsage.peakRssMiB
    return { rate: (counted * 1_000) / (endedAt - startedAt), metrics }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await describeRest(observer, receiver)}`, { cause: error })
  }
}

async function nothingOwed(observer: pg.Client): Promise<boolean> {
  const { rows } = await observer.query<{ owed: boolean }>('select exists (select from posthorn.delivery d) as owed')
  return rows[0]?.owed === false
}

async function describeRest(observer: pg.Client, receiver: Receiver): Promise<string> {
  try {
    const count = await receiver.worker.call('count', undefined, 10_000)
    const { rows } = await observer.query<{ state: number; n: string }>(
      'select d.state, count(*) as n from posthorn.delivery d group by d.state order by d.state',
    )
    const names = ['ready', 'leased', 'scheduled', 'held']
    return `received ${count}; still owed: ${rows.map(({ state, n }) => `${n} ${names[state]}`).join(', ') || 'none'}`
  } catch (error) {
    return `and what is left could not be read: ${(error as Error).message}`
  }
}
