import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { duplicates } from '../support/webhooks.ts'
import { deadPort, owe, type Registered, registerAll, registerHealthy, startTraffic } from './fair-traffic.ts'

const deadCount = 500
const waitingEach = 40
const perSecond = 50
const cap = 20

let cluster: Cluster
let receiver: Receiver
let healthy: Registered[]
let dead: Registered[]

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  cluster = await startCluster({ dispatchers: 2, env: { POSTHORN_ALLOWED_TARGETS: '127.0.0.0/8' } })
  healthy = await registerHealthy(cluster, receiver, 200)
  dead = await registerAll(
    cluster,
    Array.from({ length: deadCount }, (_, n) => ({
      tenant: `dead-${n % 20}`,
      // Each an origin of its own.
      url: `http://127.0.${1 + Math.floor(n / 250)}.${1 + (n % 250)}:${deadPort}/`,
      max_in_flight: cap,
    })),
  )
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

test('500 dead endpoints at once cost the healthy ones little, and each no more than a few attempts', async () => {
  const startedAt = Date.now()
  const traffic = startTraffic(cluster, receiver, healthy, perSecond)
  await owe(cluster.pool, dead, waitingEach)
  await sleep(10_000)
  const latencies = await traffic.end(10_000)
  await eventually(async () => (await blocked()) === deadCount, 30_000)
  const elapsedMs = Date.now() - startedAt

  const { rows } = await cluster.pool.query<{ most: number; mean: number; lanes: number; others: number }>(
    `select max(n)::int as most, avg(n)::float8 as mean, count(*)::int as lanes, sum(others)::int as others
     from (
       select a.endpoint_id, count(*) as n, count(*) filter (where a.error_code is distinct from 'connect_refused') as others
       from posthorn.attempt a join posthorn.lane l on l.endpoint_id = a.endpoint_id
       where l.tenant_id like 'dead-%' group by a.endpoint_id
     ) x`,
  )
  console.info(
    'healthy, beside 500 dead, ms:',
    latencies,
    'load',
    loadavg()[0],
    'all tripped after',
    elapsedMs,
    'attempts:',
    rows[0],
  )

  expect(latencies.p99).toBeLessThan(2_000)
  expect(latencies.max).toBeLessThan(10_000)
  expect(duplicates(receiver.requests)).toBe(0)
  expect(rows[0]).toMatchObject({ lanes: deadCount, others: 0 })
  // Nine fail, a full lane is in flight when the tenth does; then one attempt a block: 4 s, 8 s, 16 s at least.
  const probes = Math.ceil(Math.log2(elapsedMs / 4_000 + 1))
  expect(rows[0]!.most).toBeLessThanOrEqual(9 + cap + probes)
})

async function blocked(): Promise<number> {
  const { rows } = await cluster.pool.query<{ n: number }>(
    `select count(*)::int as n from posthorn.lane l where l.tenant_id like 'dead-%' and l.probing`,
  )
  return rows[0]!.n
}
