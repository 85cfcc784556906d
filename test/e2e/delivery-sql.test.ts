import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates, verifyWebhook, webhookId } from '../support/webhooks.ts'

/*
 * Events published in SQL, as a product's own transaction does, with no doorbell at all: the sweep alone finds them.
 */
let cluster: Cluster
let receiver: Receiver
let client: pg.Client
/** A tenant for each test. */
let tenant: string
let secret: string
let count = 0

beforeAll(async () => {
  receiver = await startReceiver()
  cluster = await startCluster({ dispatchers: 2, env: { POSTHORN_LISTEN_URL: 'off' } })
  client = new pg.Client({ connectionString: cluster.databaseUrl })
  await client.connect()
})

beforeEach(async () => {
  tenant = `sql-${++count}`
  const made = await cluster.makeEndpoint(tenant, { url: `${receiver.url}/${tenant}`, max_in_flight: 5 })
  secret = made.secret
})

afterAll(async () => {
  await client?.end()
  await cluster?.stop()
  await receiver?.close()
})

async function publish(payload: string, db: pg.Client | Cluster['pool'] = cluster.pool): Promise<string> {
  const { rows } = await db.query<{ id: string }>(`select posthorn.publish($1, 'sql.made', $2) as id`, [
    tenant,
    payload,
  ])
  return rows[0]!.id
}

/** What the sweep finds four times a second has come by then, on a machine that has much else to do as well. */
const soonMs = 5_000

const arrived = (id: string) => (request: Received) => webhookId(request) === id
const here = (): Received[] => receiver.requests.filter((request) => request.path === `/${tenant}`)

test('the sweep alone finds what SQL publishes: each once, and soon', async () => {
  const ids = new Map<string, number>()
  for (let n = 0; n < 50; n++) ids.set(await publish(`{"n": ${n}.0}`), Date.now())
  await receiver.waitUntil(() => here().length >= ids.size, 10_000)
  await cluster.drained(5_000)
  expect(here()).toHaveLength(ids.size)
  expect(duplicates(here())).toBe(0)
  for (const request of here()) {
    verifyWebhook(secret, request)
    expect(request.at - ids.get(webhookId(request))!).toBeLessThan(soonMs)
  }
})

test('what a transaction publishes arrives once it has committed, and others do not wait for it', async () => {
  await client.query('begin')
  const held = await publish('"held"', client)
  const openedAt = Date.now()
  // Later tickets are taken meanwhile, over and over, in the same lane: watermarks move past the held one's ticket.
  let others = 0
  while (Date.now() - openedAt < soonMs + 1_000) {
    await receiver.waitFor(arrived(await publish('"beside"')), soonMs)
    others++
  }
  expect(others).toBeGreaterThan(3)
  expect(here().some(arrived(held))).toBe(false)
  await client.query('commit')
  await receiver.waitFor(arrived(held), soonMs)
  expect(here()).toHaveLength(others + 1)
})

test('what a transaction schedules is not forgotten when it commits after it was due', async () => {
  await client.query('begin')
  const { rows } = await client.query<{ id: string }>(
    `select posthorn.publish($1, 'sql.made', '1', deliver_at => now() + interval '500 milliseconds') as id`,
    [tenant],
  )
  // Others that are due later are promoted first.
  for (let n = 0; n < 2; n++) {
    const deliverAt = new Date(Date.now() + 700).toISOString()
    const beside = await cluster.publish(tenant, 'beside', '2', { deliver_at: deliverAt })
    await receiver.waitFor(arrived(beside), 5_000)
  }
  expect(here()).toHaveLength(2)
  await client.query('commit')
  await receiver.waitFor(arrived(rows[0]!.id), soonMs)
})

test('what is rolled back is never delivered', async () => {
  await client.query('begin')
  const gone = await publish('"gone"', client)
  await client.query('savepoint half')
  const halfGone = await publish('"half gone"', client)
  await client.query('rollback to half')
  await client.query('rollback')
  const later = await publish('"later"')
  await receiver.waitFor(arrived(later), 5_000)
  // More than a whole rotation of the sweep.
  await sleep(600)
  expect(here().map(webhookId)).toEqual([later])
  expect([gone, halfGone].map((id) => receiver.requests.some(arrived(id)))).toEqual([false, false])
})
