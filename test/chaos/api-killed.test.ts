import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { duplicates, webhookId } from '../support/webhooks.ts'

const tenant = 'killed'
const endpointCount = 2

let cluster: Cluster
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
  // No dispatcher yet: what is stored stays to be counted.
  cluster = await startCluster({ dispatchers: 0 })
  for (let n = 0; n < endpointCount; n++) await cluster.makeEndpoint(tenant, { url: `${receiver.url}/${n}` })
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

test('the API killed under load: each 202 is stored, nothing is half stored, keys can be used again', async () => {
  const accepted = new Set<string>()
  const unanswered: string[] = []
  let keys = 0

  // Again, should a kill have met nobody in the middle.
  for (let round = 0; round < 2 || (unanswered.length < 3 && round < 6); round++) {
    let running = true
    const publish = async (key: string | null): Promise<void> => {
      try {
        const raw = `{"type":"${key === null ? 'plain' : 'keyed'}","payload":"${key}"}`
        const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
        const { status, body } = await cluster.call('POST', `/tenants/${tenant}/events`, { raw, headers })
        expect(status).toBe(202)
        accepted.add(body.id)
      } catch (error) {
        // Cut off: it may be stored or not.
        if (running) throw error
        if (key !== null) unanswered.push(key)
      }
    }
    const before = accepted.size
    const publishers = Array.from({ length: 24 }, async (_, n) => {
      while (running) await publish(n % 2 === 0 ? null : `key ${keys++}`)
    })
    await eventually(() => accepted.size > before + 400, 20_000)
    running = false
    cluster.api.signal('SIGKILL')
    await Promise.all(publishers)
    await cluster.api.exited
    await expectWhole()
    await cluster.startApi()
  }
  // Some were cut off in the middle, or the test shows nothing.
  expect(unanswered.length).toBeGreaterThan(0)
  const before = accepted.size
  let replayed = 0
  for (const key of unanswered) {
    const raw = `{"type":"keyed","payload":"${key}"}`
    const answer = await cluster.call('POST', `/tenants/${tenant}/events`, { raw, headers: { 'idempotency-key': key } })
    expect(answer.status).toBe(202)
    if (answer.headers.get('idempotent-replayed') === 'true') replayed++
    accepted.add(answer.body.id)
  }
  expect(accepted.size).toBe(before + unanswered.length)
  console.log(`kills of the API: ${accepted.size} accepted, ${unanswered.length} cut off, ${replayed} of them stored`)
  await expectWhole()
  const { rows } = await cluster.pool.query<{ events: number; keys: number }>(
    `select (select count(*)::int from posthorn.event where type = 'keyed') as events,
       (select count(*)::int from posthorn.idempotency_key) as keys`,
  )
  expect(rows[0]).toEqual({ events: keys, keys })

  await cluster.startDispatcher()
  await cluster.drained(30_000)
  for (let n = 0; n < endpointCount; n++) {
    const got = new Set(receiver.requests.filter((each) => each.path === `/${n}`).map(webhookId))
    expect([...accepted].filter((id) => !got.has(id))).toEqual([])
  }
  expect(duplicates(receiver.requests)).toBe(0)

  /** Each event has all its deliveries, each delivery and each key its event, and each id that was answered is there. */
  async function expectWhole(): Promise<void> {
    const whole = await cluster.pool.query<{ half: number; orphans: number; empty: number; missing: number }>(
      `select
         (select count(*)::int from posthorn.event e where e.deliveries <> $1
            or (select count(*) from posthorn.delivery d where d.event_id = e.id) <> $1) as half,
         (select count(*)::int from posthorn.delivery d
            where not exists (select from posthorn.event e where e.id = d.event_id)) as orphans,
         (select count(*)::int from posthorn.idempotency_key k
            where cardinality(k.event_ids) <> 1
              or not exists (select from posthorn.event e where e.id = k.event_ids[1])) as empty,
         (select count(*)::int from unnest($2::text[]) answered(id)
            where answered.id not in (select posthorn.type_id('evt', e.id) from posthorn.event e)) as missing`,
      [endpointCount, [...accepted]],
    )
    expect(whole.rows[0]).toEqual({ half: 0, orphans: 0, empty: 0, missing: 0 })
  }
})
