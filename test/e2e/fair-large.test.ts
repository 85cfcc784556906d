import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { type Registered, registerAll, registerHealthy, startTraffic } from './fair-traffic.ts'

const heavyEndpoints = 4
/** At their cap of 20 each they would have 80 MiB in flight. */
const eventsEach = 20
const payload = `"${'x'.repeat(1024 * 1024 - 2)}"`

let cluster: Cluster
let receiver: Receiver
let heavyReceiver: Receiver
let healthy: Registered[]

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  heavyReceiver = await startReceiver({ keepBodies: false })
  cluster = await startCluster()
  healthy = await registerHealthy(cluster, receiver, 50)
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await heavyReceiver?.close()
})

test('endpoints that hang with the largest payloads leave room for those of others', async () => {
  const heavy = await registerAll(
    cluster,
    Array.from({ length: heavyEndpoints }, (_, n) => ({
      tenant: 'heavy',
      url: `${heavyReceiver.url}/${n}`,
      timeout_ms: 10_000,
    })),
  )
  // They have answered well so far, so each may have its whole share.
  await cluster.publish('heavy', 'small', '1')
  await heavyReceiver.waitFor(heavyEndpoints, 10_000)
  await cluster.drained(5_000)
  heavyReceiver.respond = () => 'hang'
  for (const { id } of heavy) await cluster.patchEndpoint('heavy', id, { status: 'paused' })
  for (let n = 0; n < eventsEach; n++) await cluster.publish('heavy', 'large', payload)
  for (const { id } of heavy) await cluster.patchEndpoint('heavy', id, { status: 'enabled' })
  await heavyReceiver.waitFor(heavyEndpoints * 5, 10_000)

  const traffic = startTraffic(cluster, receiver, healthy, 50)
  // They hang for ten: all of this traffic comes beside them.
  await sleep(4_000)
  const latencies = await traffic.end(20_000)
  console.info('healthy, beside four that hang with the largest payloads, ms:', latencies)
  // Kept waiting, they come once the requests that hang have timed out: six seconds after the last was published.
  expect(latencies.p99).toBeLessThan(4_000)
  expect(duplicates(receiver.requests)).toBe(0)
})
