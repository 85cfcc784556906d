import { setTimeout as sleep } from 'node:timers/promises'
import { encodeId } from '@posthorn/core'
import type pg from 'pg'
import { readCounters } from '../measure/database-counters.ts'
import { describeLatency } from '../measure/latencies.ts'
import { startReceiver } from '../measure/raw-posts.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedTenants, startPublishing } from '../stage/publishing.ts'
import { seedEndpoints } from '../stage/seed.ts'
import { seedFailed } from '../stage/seed-failed.ts'

const healthyCount = 200
const eventsPerSecond = 150
const warmUpMs = 4_000
const calmMs = 10_000
const sliceMs = 4_000
const longestMs = 150_000

type Sample = { intendedAt: number[]; arrivedAt: number[] }
type Job = {
  id: string
  status: string
  total: number | null
  done: number
  created_at: string
  ended_at: string | null
}

export type RecoverySettings = {
  name: string
  what: string
  /** The endpoint is paused: what is owed again waits. Else it is delivered as it comes. */
  paused: boolean
  byDefault: boolean
}

/** Failed deliveries of one endpoint, owed again by a job, while events are published to others at a steady rate. */
export function createRecovery(settings: RecoverySettings): Scenario {
  return {
    name: settings.name,
    what: settings.what,
    unit: 'deliveries/s',
    yardstick: null,
    targets: [
      { metric: 'per_s', is: 'least', value: 20_000, label: '20k/s' },
      { metric: 'p99_ratio', is: 'below', value: 1.5, label: 'p99 1.5 times' },
    ],
    byDefault: settings.byDefault,
    async run(stage) {
      const deliveries = stage.options.deliveries * 20
      const observer = await connectObserver(stage.scope, stage.databaseUrl)
      const receiver = await startReceiver(stage)
      const recovering = await startReceiver(stage)
      const tenants = await seedTenants(observer, receiver, healthyCount)
      const [failing] = await seedEndpoints(observer, {
        endpoints: [{ tenant: 'failing', url: `${recovering.origin}/failing` }],
        paused: settings.paused,
      })
      stage.say(`${deliveries} deliveries that have failed`)
      await seedFailed(observer, failing!, deliveries)
      const { target, open, arrivalsOf } = await startPublishing(stage, observer, receiver, tenants)
      const rate = stage.options.rate ?? eventsPerSecond

      async function publish(measureMs: number): Promise<Sample> {
        await receiver.worker.call('reset', undefined, 10_000)
        const sent = await open(rate, measureMs)
        return { intendedAt: [...sent.intendedAt], arrivedAt: await arrivalsOf(sent, sent.ids.length) }
      }
      async function call(method: string, path: string, body?: object): Promise<Job> {
        const response = await fetch(target.origin + path, {
          method,
          headers: target.headers,
          ...(body && { body: JSON.stringify(body) }),
        })
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
        return (await response.json()) as Job
      }

      await publish(warmUpMs)
      stage.say('calm')
      const calm = [await publish(calmMs)]
      const before = await readCounters(observer)
      stage.say('recovering')
      let job = await call('POST', `/v1/tenants/failing/endpoints/${encodeId('ep', failing!.id)}/recover`, {
        since: new Date(Date.now() - 3_600_000).toISOString(),
        states: ['failed'],
      })
      const troubled: Sample[] = []
      for (let spentMs = 0; job.status === 'running'; spentMs += sliceMs) {
        if (spentMs > longestMs) throw new Error(`the job is at ${job.done} of ${job.total} after ${spentMs} ms`)
        troubled.push(await publish(sliceMs))
        job = await call('GET', `/v1/jobs/${job.id}`)
      }
      const after = await readCounters(observer)
      if (job.status !== 'done' || job.done !== deliveries) throw new Error(`the job came to ${JSON.stringify(job)}`)
      await check(observer, failing!.id, deliveries)
      await sleep(1_000)
      stage.say('calm')
      calm.push(await publish(calmMs))

      const tookMs = Date.parse(job.ended_at!) - Date.parse(job.created_at)
      const [calmLatency, troubledLatency] = [latencyOf(calm), latencyOf(troubled)]
      const metrics = {
        per_s: (deliveries * 1_000) / tookMs,
        p99_ratio: troubledLatency.p99_ms / calmLatency.p99_ms,
        p50_ratio: troubledLatency.p50_ms / calmLatency.p50_ms,
        wal_bytes_per_delivery: (after.walBytes - before.walBytes) / deliveries,
      }
      return {
        value: metrics.per_s,
        ratio: null,
        metrics,
        details: {
          ...metrics,
          deliveries,
          took_ms: tookMs,
          events_per_s: rate,
          calm: calmLatency,
          recovering: troubledLatency,
          calm_p99_ms: calm.map((sample) => Math.round(latencyOf([sample]).p99_ms)).join(' '),
          recovering_p99_ms_by_slice: troubled.map((sample) => Math.round(latencyOf([sample]).p99_ms)).join(' '),
        },
      }
    },
  }
}

function latencyOf(samples: readonly Sample[]) {
  return describeLatency(
    samples.flatMap((sample) => sample.intendedAt),
    samples.flatMap((sample) => sample.arrivedAt),
  )
}

/** Each of them is owed, or has been delivered since: once. @throws otherwise */
async function check(observer: pg.Client, endpointId: string, deliveries: number): Promise<void> {
  const { rows } = await observer.query<{ owed: number; delivered: number }>(
    `select (select count(*) from posthorn.delivery d where d.endpoint_id = $1)::integer as owed,
       (select count(*) from posthorn.attempt a where a.endpoint_id = $1 and a.state = 4)::integer as delivered`,
    [endpointId],
  )
  const { owed, delivered } = rows[0]!
  if (owed + delivered !== deliveries)
    throw new Error(`of ${deliveries} there are ${owed} owed and ${delivered} delivered`)
}
