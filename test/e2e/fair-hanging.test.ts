import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { owe, type Registered, registerAll, registerHealthy, startTraffic } from './fair-traffic.ts'

const waiting = 100_000
const cap = 20

let cluster: Cluster
let receiver: Receiver
let hanging: Receiver
let healthy: Registered[]

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  hanging = await startReceiver({ respond: () => 'hang', keepBodies: false })
  cluster = await startCluster({ dispatchers: 2 })
  healthy = await registerHealthy(cluster, receiver, 200)
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await hanging?.close()
})

test('an endpoint that hangs with 100,000 waiting delays none of 200 healthy ones, and never has more than its cap', async () => {
  const [stuck] = await registerAll(cluster, [
    { tenant: 'stuck', url: `${hanging.url}/hang`, max_in_flight: cap, timeout_ms: 5_000 },
  ])
  await owe(cluster.pool, [stuck!], waiting)
  await hanging.waitFor(cap, 10_000)

  const traffic = startTraffic(cluster, receiver, healthy, 50)
  // Past its time-out: what hung has failed, its breaker has tripped, and the first probe hangs.
  await hanging.waitFor(cap + 1, 25_000)
  await sleep(1_000)
  const latencies = await traffic.end(10_000)
  console.info(
    'healthy, beside one that hangs, ms:',
    latencies,
    'load',
    loadavg()[0],
    'attempts there:',
    hanging.requests.length,
  )

  expect(latencies.p99).toBeLessThan(2_000)
  expect(latencies.max).toBeLessThan(10_000)
  expect(duplicates(receiver.requests)).toBe(0)
  expect(hanging.maxInFlight('/hang')).toBe(cap)
  const { rows } = await cluster.pool.query<{ n: number }>(
    'select count(*)::int as n from posthorn.delivery d where d.state in (0, 1)',
  )
  // Blocked, the others have spent no attempt.
  expect(rows[0]!.n).toBeGreaterThan(waiting - 2 * cap)
})
