import { ringDoorbell } from '@posthorn/core/sql'
import { mostRssMiB, readUsage, resetPeak } from '../measure/process-usage.ts'
import { startReceiver } from '../measure/raw-posts.ts'
import type { Scenario } from '../scenario.ts'
import { eventBody, makePayload } from '../stage/payload.ts'
import { startDispatcher } from '../stage/posthorn-process.ts'
import { seedBacklog, seedEndpoints, setPaused } from '../stage/seed.ts'
import { pausedTenant, post, prepare } from './accept.ts'

const drained = 1_000
const large = 64
const largeBytes = 1024 * 1024
/** So long a slow receiver reads nothing of a body. */
const slowMs = 500

export const memory: Scenario = {
  name: 'memory',
  what: 'the most memory that one API and one dispatcher take: full rate, batches, a drain, 1 MiB payloads to slow receivers',
  unit: 'MiB',
  yardstick: null,
  targets: [
    { metric: 'api_peak_rss_mib', is: 'below', value: mostRssMiB, label: `API ${mostRssMiB} MiB` },
    { metric: 'dispatcher_peak_rss_mib', is: 'below', value: mostRssMiB, label: `dispatcher ${mostRssMiB} MiB` },
  ],
  byDefault: false,
  async run(stage) {
    const { observer, publish, api } = await prepare(stage)
    const receiver = await startReceiver(stage)
    const endpointsAt = (count: number, name: string, paused: boolean) =>
      seedEndpoints(observer, {
        endpoints: Array.from({ length: count }, (_, n) => ({
          tenant: `${name}${n}`,
          url: `${receiver.origin}/${name}${n}`,
        })),
        paused,
      })
    const owed = await endpointsAt(drained, 'drained', true)
    const largeTenants = (await endpointsAt(large, 'large', false)).map(({ tenant }) => tenant)
    const seconds = stage.options.seconds ?? 10
    const { deliveries } = stage.options
    await seedBacklog(observer, owed, deliveries)
    const dispatcher = await startDispatcher(stage, observer, {})

    const peaks: { phase: string; api_mib: number; dispatcher_mib: number; done: number }[] = []
    /** @param work gives how much was done */
    async function phase(name: string, work: () => Promise<number>): Promise<void> {
      stage.say(name)
      for (const { pid } of [api, dispatcher]) resetPeak(pid)
      const done = await dispatcher.whileAlive(api.whileAlive(work()))
      const [ofApi, ofDispatcher] = [readUsage(api.pid), readUsage(dispatcher.pid)]
      if (ofApi === null || ofDispatcher === null) throw new Error('memory is read from /proc, which is not there')
      peaks.push({ phase: name, api_mib: ofApi.peakRssMiB, dispatcher_mib: ofDispatcher.peakRssMiB, done })
    }
    /** Waits for so many webhooks. @throws unless each came once, and whole */
    async function received(count: number, bytes: number): Promise<number> {
      await receiver.worker.call('waitFor', count, 120_000 + count * 2)
      const got = await receiver.worker.call('summary', undefined, 60_000)
      if (got.webhooks !== count || got.distinct !== count || got.bodyBytes !== count * bytes)
        throw new Error(`of ${count} webhooks ${got.webhooks} came, ${got.distinct} different, ${got.bodyBytes} bytes`)
      return count
    }

    await phase('one event a request', async () => {
      return (await publish({ tenant: pausedTenant, batched: false, seconds })).done
    })
    await phase('batches of 100', async () => {
      return (await publish({ tenant: pausedTenant, batched: true, seconds })).done * 100
    })
    await phase('a drain of 1 KiB', async () => {
      await setPaused(observer, owed, false)
      await ringDoorbell(
        observer,
        owed.map(({ id }) => id),
      )
      return received(deliveries, 1_024)
    })
    await phase('1 MiB to slow receivers', async () => {
      await receiver.worker.call('reset', undefined, 10_000)
      await receiver.worker.call('beSlow', slowMs, 10_000)
      const published = await post(stage, {
        origin: api.origin,
        paths: largeTenants.map((tenant) => `/v1/tenants/${tenant}/events`),
        body: eventBody(makePayload(largeBytes)),
        status: 202,
        seconds,
        // It bounds what it holds of them.
        patient: true,
      })
      return received(published.done, largeBytes)
    })
    const metrics = {
      api_peak_rss_mib: Math.max(...peaks.map((peak) => peak.api_mib)),
      dispatcher_peak_rss_mib: Math.max(...peaks.map((peak) => peak.dispatcher_mib)),
    }
    return {
      value: Math.max(metrics.api_peak_rss_mib, metrics.dispatcher_peak_rss_mib),
      ratio: null,
      metrics,
      details: { ...metrics, peaks },
    }
  },
}
