import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { createOrderWatch, placedOf } from '../support/order-watch.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { webhookId } from '../support/webhooks.ts'

/* Order at a real receiver, over two dispatchers, while the endpoint is changed under traffic, and what users do meanwhile. */
let cluster: Cluster
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
  cluster = await startCluster({ dispatchers: 2, env: { POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1h' } })
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

const at = (path: string) => (request: Received) => request.path === path

test('what is published after a change was answered arrives in the new order, whatever was owed before', async () => {
  const tenant = 'changed'
  const lines = Array.from({ length: 20 }, (_, n) => `key ${n}`)
  const seen = new Map<string, number>()
  receiver.respond = async (request) => {
    const { line, n } = placedOf(request)
    const turn = (seen.get(`${line} ${n}`) ?? 0) + 1
    seen.set(`${line} ${n}`, turn)
    await sleep(n % 5)
    // One of the lines at a time: many failures in a row would trip the breaker.
    return { status: turn === 1 && (Number(line.slice(4)) * 7 + n) % 23 === 4 ? 500 : 200 }
  }
  const { id } = await cluster.makeEndpoint(tenant, { url: `${receiver.url}/changed`, max_in_flight: 8 })
  const next = new Map<string, number>()
  let published = 0
  let ended = false
  async function publish(line: string): Promise<void> {
    const n = next.get(line) ?? 0
    await cluster.publish(tenant, 'placed', JSON.stringify({ line, n }), { ordering_key: line })
    next.set(line, n + 1)
    published++
  }
  // Each line one after the other; the lines side by side.
  const publishing = lines.map(async (line) => {
    while (!ended) {
      await publish(line)
      await sleep(60)
    }
  })
  const change = async (to: string): Promise<void> => {
    const answer = await cluster.patchEndpoint(tenant, id, { ordering: to })
    expect(answer).toMatchObject({ status: 200, body: { ordering: to } })
  }

  await sleep(1_000)
  await change('by_key')
  // One may be under way while the change is answered.
  const from = new Map(lines.map((line) => [line, (next.get(line) ?? 0) + 1]))
  await sleep(2_000)
  await change('strict')
  await sleep(1_000)
  expect((await cluster.patchEndpoint(tenant, id, { status: 'paused' })).status).toBe(200)
  await sleep(500)
  expect((await cluster.patchEndpoint(tenant, id, { status: 'enabled' })).status).toBe(200)
  await sleep(1_000)
  await change('by_key')
  await sleep(1_000)
  ended = true
  await Promise.all(publishing)
  await cluster.drained(60_000)

  const last = new Map(lines.map((line) => [line, from.get(line)! - 1]))
  const faults: string[] = []
  for (const request of receiver.requests.filter(at('/changed'))) {
    const { line, n } = placedOf(request)
    if (n < from.get(line)!) continue
    const before = last.get(line)!
    if (n !== before && n !== before + 1) faults.push(`${line}: ${n} after ${before}`)
    last.set(line, n)
  }
  expect(faults).toEqual([])
  for (const line of lines) expect(last.get(line)).toBe(next.get(line)! - 1)
  expect(new Set(receiver.requests.filter(at('/changed')).map(webhookId)).size).toBe(published)
  const after = lines.reduce((sum, line) => sum + next.get(line)! - from.get(line)!, 0)
  console.log(`${published} events, ${after} of them in order over three changes`)
  expect(after).toBeGreaterThan(lines.length * 10)
})

test('a strict endpoint waits for its head; a cancel and a redelivery let it go on', async () => {
  const tenant = 'strict'
  const watch = createOrderWatch()
  let broken = true
  receiver.respond = (request) => {
    if (request.path === '/strict') watch.arrive(request)()
    return { status: broken && placedOf(request).n === 0 ? 500 : 200 }
  }
  const { id } = await cluster.makeEndpoint(tenant, {
    url: `${receiver.url}/strict`,
    ordering: 'strict',
    retry_schedule: [3600, 3600],
  })
  const publish = (n: number) => cluster.publish(tenant, 'placed', JSON.stringify({ line: 'all', n }))
  const first = await publish(0)
  const second = await publish(1)
  await publish(2)
  await receiver.waitFor(at('/strict'), 10_000)
  // Long enough for a sweep or two.
  await sleep(800)
  expect(receiver.requests.filter(at('/strict'))).toHaveLength(1)
  expect((await cluster.delivery(tenant, second, id)).body).toMatchObject({ state: 'pending', attempts: 0 })

  // Not the head's own end, only its wait.
  broken = false
  const path = (event: string) => `/tenants/${tenant}/events/${event}/deliveries/${id}`
  expect((await cluster.call('POST', `${path(first)}/redeliver`)).status).toBe(202)
  await receiver.waitUntil(() => receiver.requests.filter(at('/strict')).length === 4, 10_000)
  await cluster.drained(10_000)
  expect(watch.reached()).toBe(3)

  broken = true
  receiver.respond = (request) => ({ status: placedOf(request).n === 3 ? 500 : 200 })
  const fourth = await publish(3)
  const fifth = await publish(4)
  await receiver.waitFor((request) => webhookId(request) === fourth, 10_000)
  await sleep(500)
  expect(receiver.requests.some((request) => webhookId(request) === fifth)).toBe(false)
  expect((await cluster.call('POST', `${path(fourth)}/cancel`)).status).toBe(200)
  // It rings the doorbell: nobody waits for a sweep from the first ticket.
  const canceledAt = Date.now()
  const { at: arrivedAt } = await receiver.waitFor((request) => webhookId(request) === fifth, 10_000)
  expect(arrivedAt - canceledAt).toBeLessThan(5_000)
  expect(watch.faults).toEqual([])
})

test('a scheduled event takes its place in its key when it is due', async () => {
  const tenant = 'later'
  receiver.respond = () => ({ status: 200 })
  await cluster.makeEndpoint(tenant, { url: `${receiver.url}/later`, ordering: 'by_key' })
  const publish = (n: number, more = {}) =>
    cluster.publish(tenant, 'placed', JSON.stringify({ line: 'a', n }), { ordering_key: 'a', ...more })
  await publish(2, { deliver_at: new Date(Date.now() + 1_500).toISOString() })
  await publish(0)
  await publish(1)
  const here = () => receiver.requests.filter(at('/later')).map((request) => placedOf(request).n)
  await receiver.waitUntil(() => here().length === 3, 10_000)
  expect(here()).toEqual([0, 1, 2])
})
