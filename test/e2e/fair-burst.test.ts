import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { owe, type Registered, registerAll, registerHealthy, startTraffic } from './fair-traffic.ts'

const burstEach = 5_000
const burstEndpoints = 40
/** Forty lanes of 20 want 800 slots, and two dispatchers have 512: the burst fills what it may. */
const answerMs = 600

let cluster: Cluster
let receiver: Receiver
let bursting: Receiver
let quiet: Registered[]
let loud: Registered[]

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  bursting = await startReceiver({ respond: () => ({ status: 200, delayMs: answerMs }), keepBodies: false })
  cluster = await startCluster({ dispatchers: 2 })
  quiet = await registerHealthy(cluster, receiver, 50)
  loud = await registerAll(
    cluster,
    Array.from({ length: burstEndpoints }, (_, n) => ({ tenant: 'loud', url: `${bursting.url}/${n}` })),
  )
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await bursting?.close()
})

test('a tenant that bursts 200,000 events keeps nobody else waiting', async () => {
  await owe(cluster.pool, loud, burstEach)
  const traffic = startTraffic(cluster, receiver, quiet, 50)
  await sleep(7_000)
  const { rows } = await cluster.pool.query<{ n: number }>(
    'select count(*)::int as n from posthorn.delivery d where d.endpoint_id in (select l.endpoint_id from posthorn.lane l where l.tenant_id = $1)',
    ['loud'],
  )
  const latencies = await traffic.end(10_000)
  console.info(
    'quiet, beside a burst, ms:',
    latencies,
    'of the burst came',
    bursting.requests.length,
    'left',
    rows[0]!.n,
  )

  // The burst was on all the time, and went on.
  expect(rows[0]!.n).toBeGreaterThan(0)
  expect(bursting.requests.length).toBeGreaterThan(1_000)
  expect(latencies.p99).toBeLessThan(2_000)
  expect(latencies.max).toBeLessThan(10_000)
  expect(duplicates(receiver.requests)).toBe(0)
})
