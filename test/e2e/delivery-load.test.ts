import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster, type TestEndpoint } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { byPath, duplicates, verifyWebhook, webhookId } from '../support/webhooks.ts'

const tenant = 'load'
const endpointCount = 50
const fanOuts = 50
const singlesEach = 50
const deliveries = endpointCount * (fanOuts + singlesEach)
const capOf = (index: number): number => 1 + (index % 20)

let cluster: Cluster
let receiver: Receiver
const endpoints: TestEndpoint[] = []

beforeAll(async () => {
  receiver = await startReceiver({
    respond: async (request) => {
      // A few ms, so that lanes with small caps fill up.
      await sleep(2 + (request.path.length % 3) * 3)
      return { status: 200 }
    },
  })
  cluster = await startCluster({ dispatchers: 4 })
  for (let index = 0; index < endpointCount; index++) {
    endpoints.push(
      await cluster.makeEndpoint(tenant, {
        url: `${receiver.url}/${index}`,
        max_in_flight: capOf(index),
        event_types: ['to.all', `to.${index}`],
      }),
    )
  }
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

test('4 dispatchers deliver 5,000 to 50 endpoints: each once, within its lane, verifiable, byte for byte', async () => {
  const payloads = new Map<string, string>()
  const publish = async (type: string, count: number): Promise<void> => {
    const events = Array.from({ length: count }, (_, n) => ({
      type,
      payload: `{ "type":"${type}", "n": ${n}.0,\t"text":"\\u00e9 ü \\/ ${'x'.repeat(n * 7)}" }`,
    }))
    const ids = await cluster.publishAll(tenant, events)
    for (const [at, id] of ids.entries()) payloads.set(id, events[at]?.payload ?? '')
  }
  await Promise.all([publish('to.all', fanOuts), ...endpoints.map((_, index) => publish(`to.${index}`, singlesEach))])

  await receiver.waitFor(deliveries, 40_000)
  await cluster.drained(10_000)

  // At the receiver: so many requests, and none twice.
  expect(receiver.requests).toHaveLength(deliveries)
  expect(duplicates(receiver.requests)).toBe(0)
  const paths = byPath(receiver.requests)
  for (const [index, endpoint] of endpoints.entries()) {
    const requests = paths.get(`/${index}`) ?? []
    expect(requests).toHaveLength(fanOuts + singlesEach)
    for (const request of requests) {
      verifyWebhook(endpoint.secret, request)
      const published = payloads.get(webhookId(request)) ?? 'never published'
      expect(request.bodySha256).toBe(createHash('sha256').update(published).digest('hex'))
    }
  }

  const most = endpoints.map((_, index) => receiver.maxInFlight(`/${index}`))
  expect(most.filter((each, index) => each > capOf(index))).toEqual([])
  // The caps were what held them: small lanes were full, and others had more in flight than those may have.
  expect(most.filter((each, index) => capOf(index) <= 3 && each === capOf(index)).length).toBeGreaterThan(3)
  expect(Math.max(...most)).toBeGreaterThan(3)

  // In the log: one attempt each, and in the API each delivery once, as succeeded.
  const { rows } = await cluster.pool.query(`
    select count(*)::int as attempts, count(distinct (event_id, endpoint_id))::int as deliveries,
      count(*) filter (where outcome = 1 and state = 4 and number = 1 and status = 200)::int as good
    from posthorn.attempt`)
  expect(rows[0]).toEqual({ attempts: deliveries, deliveries, good: deliveries })
  const succeeded = await listAll(`/tenants/${tenant}/deliveries?state=succeeded&limit=200`)
  expect(succeeded).toHaveLength(deliveries)
  expect(new Set(succeeded.map((each) => `${each.event_id}/${each.endpoint_id}`)).size).toBe(deliveries)
  expect(succeeded.every((each) => each.attempts === 1 && each.last_status === 200)).toBe(true)
})

type Listed = { event_id: string; endpoint_id: string; attempts: number; last_status: number }

async function listAll(path: string): Promise<Listed[]> {
  const all: Listed[] = []
  let cursor: string | null = null
  do {
    const { status, body } = await cluster.call('GET', cursor === null ? path : `${path}&cursor=${cursor}`)
    expect(status).toBe(200)
    all.push(...body.data)
    cursor = body.next_cursor
  } while (cursor !== null)
  return all
}
