import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type DatabaseCounters, readCounters } from '../measure/database-counters.ts'
import { describeLatency } from '../measure/latencies.ts'
import { cpuSecondsOf, mostRssMiB, readUsage } from '../measure/process-usage.ts'
import { createRateSearch } from '../measure/rate-search.ts'
import { measureRawPosts, type Receiver, startReceiver } from '../measure/raw-posts.ts'
import { mean } from '../measure/statistics.ts'
import { describeSteadiness, type Steadiness } from '../measure/steadiness.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { type Publishing, seedTenants, startPublishing } from '../stage/publishing.ts'
import { until } from '../stage/wait.ts'

const endpointCount = 1_000
const holdSeconds = 60
const bestMs = 4_000
const probeMs = 6_000
const probes = 6
/** A rate that a probe keeps up with may be too much for a minute, in which checkpoints and vacuums fall. */
const mostHolds = 4
const stepDown = 0.93

/** Of what is due in the last two thirds, so much must come in them; a probe is too short for more. */
const keptUpInProbe = 0.97
const keptUpInHold = 0.99
/** What waits at the end, in seconds' worth of what is due. */
const mostBacklogSeconds = 1

export type SteadySettings = { name: string; eventsPerRequest: number }

type Sample = Steadiness & { events: number; latency: ReturnType<typeof describeLatency>; acceptedPerSecond: number }

export function createSteady({ name, eventsPerRequest }: SteadySettings): Scenario {
  const asked = eventsPerRequest === 1 ? 'one a request' : `${eventsPerRequest} a request`
  return {
    name,
    what: `the highest rate at which events are published over HTTP, ${asked}, and delivered to 1,000 endpoints for a minute`,
    unit: 'deliveries/s',
    yardstick: 'raw',
    targets: [
      { metric: 'ratio', is: 'least', value: 0.25, label: '0.25 of raw' },
      { metric: 'kept_up', is: 'least', value: keptUpInHold, label: `${keptUpInHold} of what was due delivered` },
      { metric: 'backlog_s', is: 'below', value: mostBacklogSeconds, label: `${mostBacklogSeconds} s of backlog` },
      { metric: 'api_peak_rss_mib', is: 'below', value: mostRssMiB, label: `API ${mostRssMiB} MiB` },
      { metric: 'dispatcher_peak_rss_mib', is: 'below', value: mostRssMiB, label: `dispatcher ${mostRssMiB} MiB` },
    ],
    byDefault: false,
    async run(stage) {
      const observer = await connectObserver(stage.scope, stage.databaseUrl)
      const receiver = await startReceiver(stage)
      const tenants = await seedTenants(observer, receiver, endpointCount)
      const rawSeconds = 5
      stage.say('raw, before')
      const rawBefore = await measureRawPosts(stage, receiver, rawSeconds)
      const publishing = await startPublishing(stage, observer, receiver, tenants, eventsPerRequest)

      let rate = stage.options.rate
      if (rate === null) {
        stage.say('the best rate of accepting and delivering together')
        const start = (await publishing.best(bestMs)).rate
        rate = await searchRate(stage.say, start, (tried) => publishFor(publishing, receiver, tried, probeMs))
      } else {
        stage.say('warming up')
        await publishFor(publishing, receiver, rate, probeMs)
      }
      const seconds = stage.options.seconds ?? holdSeconds
      const held: { rate: number; kept_up: number }[] = []
      const { api, dispatcher } = publishing
      let before: DatabaseCounters
      let cpuBefore: number[]
      let cpuAfter: number[]
      let sample: Sample
      while (true) {
        stage.say(`${Math.round(rate)} events/s for ${seconds} s`)
        // What was published before is received, and is being settled.
        await sleep(1_500)
        before = await readCounters(observer)
        cpuBefore = [api, dispatcher].map(({ pid }) => cpuSecondsOf([pid]))
        sample = await publishFor(publishing, receiver, rate, seconds * 1_000)
        cpuAfter = [api, dispatcher].map(({ pid }) => cpuSecondsOf([pid]))
        held.push({ rate: Math.round(rate), kept_up: sample.keptUp })
        const holds = sample.keptUp >= keptUpInHold && sample.backlogAtEnd < rate * mostBacklogSeconds
        if (holds || held.length === mostHolds || stage.options.rate !== null) break
        rate *= stepDown
      }
      await checkAllDelivered(observer)
      const usage = { api: readUsage(api.pid), dispatcher: readUsage(dispatcher.pid) }
      await api.stop()
      await dispatcher.stop()
      const after = await readCounters(observer)
      stage.say('raw, after')
      const rawAfter = await measureRawPosts(stage, receiver, rawSeconds)

      const metrics = {
        kept_up: sample.keptUp,
        backlog_s: sample.backlogAtEnd / rate,
        wal_bytes_per_event: (after.walBytes - before.walBytes) / sample.events,
        full_page_images_per_1000: ((after.fullPageImages - before.fullPageImages) * 1_000) / sample.events,
        commits_per_100: ((after.commits - before.commits) * 100) / sample.events,
        ...(usage.api && { api_peak_rss_mib: usage.api.peakRssMiB }),
        ...(usage.dispatcher && { dispatcher_peak_rss_mib: usage.dispatcher.peakRssMiB }),
      }
      return {
        value: sample.receivedPerSecond,
        ratio: sample.receivedPerSecond / mean([rawBefore, rawAfter]),
        metrics,
        details: {
          endpoints: endpointCount,
          events_per_request: eventsPerRequest,
          seconds,
          raw_before: rawBefore,
          raw_after: rawAfter,
          due_per_s: rate,
          accepted_per_s: sample.acceptedPerSecond,
          delivered_per_s: sample.receivedPerSecond,
          backlog_at_third: sample.backlogAtThird,
          backlog_at_two_thirds: sample.backlogAtTwoThirds,
          backlog_at_end: sample.backlogAtEnd,
          api_cores: (cpuAfter[0]! - cpuBefore[0]!) / seconds,
          dispatcher_cores: (cpuAfter[1]! - cpuBefore[1]!) / seconds,
          ...metrics,
          from_intended_send: sample.latency,
          held,
        },
      }
    },
  }
}

/** @returns the highest rate of so many probes that was kept up with, or, where none was, the next to try */
async function searchRate(
  say: (line: string) => void,
  start: number,
  probe: (rate: number) => Promise<Sample>,
): Promise<number> {
  const search = createRateSearch(start)
  for (let at = 0; at < probes; at++) {
    const { keptUp } = await probe(search.next())
    say(`${Math.round(search.next())} events/s: kept up with ${keptUp.toFixed(3)} of it`)
    search.report(keptUp >= keptUpInProbe)
  }
  return search.best() ?? search.next()
}

/** Publishes by the clock, and waits until each event that was answered 202 has come. @throws unless each came once */
async function publishFor(
  publishing: Publishing,
  receiver: Receiver,
  rate: number,
  measureMs: number,
): Promise<Sample> {
  await receiver.worker.call('reset', undefined, 10_000)
  const sent = await publishing.open(rate, measureMs)
  const arrivedAt = await publishing.arrivalsOf(sent, sent.ids.length)
  return {
    events: sent.ids.length,
    latency: describeLatency(sent.intendedAt, arrivedAt),
    acceptedPerSecond: describeSteadiness(sent.intendedAt, sent.answeredAt, measureMs).receivedPerSecond,
    ...describeSteadiness(sent.intendedAt, arrivedAt, measureMs),
  }
}

/** Nothing is owed any more, and each event has one attempt, which succeeded. */
async function checkAllDelivered(observer: pg.Client): Promise<void> {
  const nothingOwed = async (): Promise<boolean> => {
    const { rows } = await observer.query<{ owed: boolean }>('select exists (select from posthorn.delivery d) as owed')
    return rows[0]?.owed === false
  }
  await until(nothingOwed, { everyMs: 50, timeoutMs: 30_000, what: 'the settling of the last' })
  const { rows } = await observer.query<{ events: string; attempts: string; succeeded: string }>(
    `select (select count(*) from posthorn.event) as events, count(*) as attempts,
       count(*) filter (where a.state = 4) as succeeded
     from posthorn.attempt a`,
  )
  const { events, attempts, succeeded } = rows[0]!
  if (events !== attempts || events !== succeeded)
    throw new Error(`${events} events were published; there are ${attempts} attempts, ${succeeded} that succeeded`)
}
