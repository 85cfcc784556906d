import { setTimeout as sleep } from 'node:timers/promises'
import { describeLatency } from '../measure/latencies.ts'
import { readUsage } from '../measure/process-usage.ts'
import { type Receiver, startReceiver } from '../measure/raw-posts.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedTenants, startPublishing } from '../stage/publishing.ts'
import type { Worker } from '../stage/worker.ts'
import type { LoadFunctions, Target } from '../workers/load.ts'

const endpointCount = 100
const probeMs = 5_000
const warmUpMs = 4_000

export const latency: Scenario = {
  name: 'latency',
  what: 'from the moment an event should be published to its whole receipt, at a steady tenth of the best rate, open loop',
  unit: 'ms (p50)',
  yardstick: null,
  targets: [
    { metric: 'p50_ms', is: 'below', value: 15, label: 'p50 15 ms' },
    { metric: 'p99_ms', is: 'below', value: 100, label: 'p99 100 ms' },
  ],
  byDefault: true,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const tenants = await seedTenants(observer, receiver, endpointCount)
    const publishing = await startPublishing(stage, observer, receiver, tenants)
    const { api, dispatcher, load, target, alive } = publishing

    const best = stage.options.rate === null ? await alive(measureBest(stage, receiver, load, target)) : null
    const rate = stage.options.rate ?? Math.max(1, Math.round((best?.rate ?? 0) / 10))
    const seconds = stage.options.seconds ?? 20
    stage.say(`${rate} events/s for ${seconds} s`)
    // What the search for the best rate left behind in queues and garbage is not this figure's.
    await sleep(1_500)
    await receiver.worker.call('reset', undefined, 10_000)
    const warm = await publishing.open(rate, warmUpMs)
    const sent = await publishing.open(rate, seconds * 1_000)
    const arrivedAt = await publishing.arrivalsOf(sent, warm.ids.length + sent.ids.length)

    const fromIntended = describeLatency(sent.intendedAt, arrivedAt)
    return {
      value: fromIntended.p50_ms,
      ratio: null,
      metrics: fromIntended,
      details: {
        events: sent.ids.length,
        events_per_s: rate,
        ...(best && { best_rate: best.rate, best_accepted_per_s: best.acceptedRate, best_tail_ms: best.tailMs }),
        endpoints: endpointCount,
        from_intended_send: fromIntended,
        from_actual_send: describeLatency(sent.sentAt, arrivedAt),
        lateness_of_send: describeLatency(sent.intendedAt, sent.sentAt),
        send_to_202: describeLatency(sent.sentAt, sent.answeredAt),
        api_peak_rss_mib: readUsage(api.pid)?.peakRssMiB ?? null,
        dispatcher_peak_rss_mib: readUsage(dispatcher.pid)?.peakRssMiB ?? null,
      },
    }
  },
}

/** Events a second that are accepted and delivered: as many as 64 connections publish, and the time until all have come. */
async function measureBest(
  stage: Stage,
  receiver: Receiver,
  load: Worker<LoadFunctions>,
  target: Target,
): Promise<{ rate: number; acceptedRate: number; tailMs: number }> {
  stage.say('the best rate of accepting and delivering together')
  const closed = (measureMs: number) =>
    load.call('closed', { ...target, inFlight: 64, warmUpMs: 0, measureMs }, measureMs + 60_000)
  const warm = await closed(2_000)
  await receiver.worker.call('waitFor', warm.done, 60_000)
  await receiver.worker.call('reset', undefined, 10_000)
  const { done, startedAt } = await closed(probeMs)
  await receiver.worker.call('waitFor', done, 60_000)
  const lastAt = await receiver.worker.call('momentOf', done, 10_000)
  return {
    rate: (done * 1_000) / (lastAt - startedAt),
    acceptedRate: (done * 1_000) / probeMs,
    tailMs: Math.max(0, lastAt - startedAt - probeMs),
  }
}
