import { setTimeout as sleep } from 'node:timers/promises'
import { describeLatency } from '../measure/latencies.ts'
import { readUsage } from '../measure/process-usage.ts'
import { startReceiver } from '../measure/raw-posts.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedTenants, startPublishing } from '../stage/publishing.ts'

const endpointCount = 100
const probeMs = 5_000
const warmUpMs = 4_000

export const latency: Scenario = {
  name: 'latency',
  what: 'from the moment an event should be published to its whole receipt, at a steady tenth of the best rate, open loop',
  unit: 'ms (p50)',
  yardstick: null,
  targets: [
    { metric: 'p50_ms', is: 'below', value: 5, label: 'p50 5 ms' },
    { metric: 'p99_ms', is: 'below', value: 25, label: 'p99 25 ms' },
    { metric: 'p999_ms', is: 'below', value: 100, label: 'p99.9 100 ms' },
  ],
  byDefault: true,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const tenants = await seedTenants(observer, receiver, endpointCount)
    const publishing = await startPublishing(stage, observer, receiver, tenants)
    const { api, dispatcher } = publishing

    if (stage.options.rate === null) stage.say('the best rate of accepting and delivering together')
    const best = stage.options.rate === null ? await publishing.best(probeMs) : null
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
