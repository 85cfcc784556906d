import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { owe, type Registered, registerAll } from './fair-traffic.ts'

const deliveries = 300
const cap = 20

let cluster: Cluster
let receiver: Receiver
let operator: Receiver
let endpoint: Registered

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  operator = await startReceiver()
  cluster = await startCluster({ dispatchers: 3 })
  endpoint = (
    await registerAll(cluster, [
      {
        tenant: 'flapping',
        url: `${receiver.url}/flapping`,
        max_in_flight: cap,
        retry_schedule: Array.from({ length: 20 }, () => 1),
      },
      { tenant: 'posthorn', url: `${operator.url}/operator` },
    ])
  )[0]!
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await operator?.close()
})

test('a failing endpoint is blocked, probed by one attempt at a time, and comes back slowly; operators are told', async () => {
  let broken = true
  let answered = 0
  const answeredAt = new Map<Received, number>()
  receiver.respond = async (request) => {
    if (broken) return { status: 500, delayMs: 20 }
    // How many successes the lane can have heard of when this one came.
    answeredAt.set(request, answered)
    await new Promise((resolve) => setTimeout(resolve, 30))
    answered++
    return { status: 200 }
  }
  await owe(cluster.pool, [endpoint], deliveries)

  // It trips, and operators hear of it.
  const failing = await operator.waitFor(typeIs('endpoint.failing'), 10_000)
  expect(JSON.parse(failing.body.toString())).toMatchObject({
    type: 'endpoint.failing',
    data: { tenant_id: 'flapping', endpoint_id: endpoint.id, failures_in_a_row: expect.any(Number) },
  })
  const trippedAt = failing.at
  const atTrip = receiver.requests.length
  expect(atTrip).toBeLessThanOrEqual(9 + cap)

  // The first probe fails, the second succeeds.
  const afterTrip = (): Received[] => receiver.requests.filter((each) => each.at > trippedAt + 1_000)
  await receiver.waitUntil(() => afterTrip().length >= 1, 10_000)
  const firstProbe = afterTrip()[0]!
  expect(firstProbe.at - trippedAt).toBeGreaterThan(3_500)
  await waitUntilBlockedAgain()
  broken = false
  const healthy = await operator.waitFor(typeIs('endpoint.healthy'), 15_000)
  expect(JSON.parse(healthy.body.toString())).toMatchObject({
    type: 'endpoint.healthy',
    data: { tenant_id: 'flapping', endpoint_id: endpoint.id },
  })
  const [, secondProbe] = afterTrip()
  expect(secondProbe!.at - firstProbe.at).toBeGreaterThan(7_500)
  expect(afterTrip().filter((each) => each.at < secondProbe!.at)).toEqual([firstProbe])
  expect([firstProbe, secondProbe].map((each) => each?.inFlightAtArrival)).toEqual([1, 1])

  // It ramps up: two at first, and each settle of successes doubles that at most. All come.
  await cluster.drained(20_000)
  const good = [...answeredAt.keys()]
  expect(good).toHaveLength(deliveries)
  expect(duplicates(good)).toBe(0)
  for (const each of good) {
    expect(each.inFlightAtArrival).toBeLessThanOrEqual(Math.min(cap, 2 ** answeredAt.get(each)!))
  }
  expect(Math.max(...good.map((each) => each.inFlightAtArrival))).toBeGreaterThan(cap / 2)
  expect(operator.requests.map(typeOf).sort()).toEqual(['endpoint.failing', 'endpoint.healthy'])
})

const typeOf = (request: Received): string => String(request.headers['posthorn-event-type'])

function typeIs(type: string): (request: Received) => boolean {
  return (request) => typeOf(request) === type
}

async function waitUntilBlockedAgain(): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await cluster.pool.query<{ trips: number }>(
          'select l.breaker_trips as trips from posthorn.lane l where l.endpoint_id = $1',
          [decodeId('ep', endpoint.id)],
        )
        return rows[0]?.trips
      },
      { timeout: 5_000, interval: 50 },
    )
    .toBe(2)
}
