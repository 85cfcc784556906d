import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiAnswer, type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { startTestServer, type TestServer } from '../support/test-server.ts'
import { eventually } from '../support/wait.ts'
import { byPath, duplicates, webhookId } from '../support/webhooks.ts'

/*
 * The database goes away under load, or does not answer for a while.
 */
const tenant = 'lost'
const env = { POSTHORN_RETRY_SCHEDULE: '1s,1s,1s' }
const endpointCount = 4

let server: TestServer
let killed: Cluster
let locked: Cluster
let receiver: Receiver
let otherReceiver: Receiver

beforeAll(async () => {
  const respond = async () => {
    await sleep(10)
    return { status: 200 }
  }
  receiver = await startReceiver({ respond })
  otherReceiver = await startReceiver({ respond })
  // With fsync, and of its own: it is killed.
  server = await startTestServer()
  killed = await startCluster({ databaseUrl: server.url, dispatchers: 2, env })
  locked = await startCluster({ dispatchers: 2, env })
})

afterAll(async () => {
  await Promise.all([killed?.stop(), locked?.stop()])
  await Promise.all([receiver?.close(), otherReceiver?.close(), server?.stop()])
})

describe.concurrent('the database', () => {
  test('killed three times under load: nothing that was accepted is lost, nothing is stored twice, all reconnect', async () => {
    for (let n = 0; n < endpointCount; n++) {
      await killed.makeEndpoint(tenant, { url: `${receiver.url}/${n}` })
    }
    const ledger = startPublishers(killed)
    try {
      for (let round = 1; round <= 3; round++) {
        const accepted = ledger.accepted.size
        await eventually(() => ledger.accepted.size > accepted + 150, 15_000)
        await server.kill9()
        const refused = ledger.refused.length
        await eventually(() => ledger.refused.length > refused + 5, 15_000)
        await server.restart()
      }
      const accepted = ledger.accepted.size
      await eventually(() => ledger.accepted.size > accepted + 150, 15_000)
    } finally {
      await ledger.stop()
    }
    // While it was away, and only then: 503, with the time to come again.
    expect(new Set(ledger.refused.map((each) => each.status))).toEqual(new Set([503]))
    expect(ledger.refused.filter((each) => !(Number(each.headers.get('retry-after')) >= 1))).toEqual([])

    await killed.drained(20_000)
    const paths = byPath(receiver.requests)
    for (let n = 0; n < endpointCount; n++) {
      const got = new Set((paths.get(`/${n}`) ?? []).map(webhookId))
      expect([...ledger.accepted.keys()].filter((id) => !got.has(id))).toEqual([])
    }
    // Each key was used until it was accepted: it made one event, whatever the answers that were lost.
    const { rows } = await killed.pool.query<{ events: number; keys: number }>(
      `select (select count(*)::int from posthorn.event where type = 'keyed') as events,
         (select count(*)::int from posthorn.idempotency_key) as keys`,
    )
    expect(rows[0]).toEqual({ events: ledger.keys, keys: ledger.keys })
    expect(ledger.keys).toBeGreaterThan(50)

    const { rows: logged } = await killed.pool.query<{ made: number; failed: number; lost: number }>(
      `select count(*) filter (where outcome in (1, 2, 4))::int as made, count(*) filter (where outcome = 2)::int as failed,
         count(*) filter (where outcome = 3)::int as lost
       from posthorn.attempt`,
    )
    const { made, failed, lost } = logged[0]!
    const twice = duplicates(receiver.requests)
    console.log(
      `3 kills of the database: ${ledger.accepted.size} accepted, ${ledger.refused.length} refused, ` +
        `${receiver.requests.length} requests, ${twice} twice, ${failed} failed, ${lost} leases lost`,
    )
    // Outages were shorter than a lease: what was in flight was settled after them, and what was claimed without an answer
    // was given back. So each request is in the log, there is nothing else in it, and
    // nothing came twice but what had failed (on a machine that has too much to do, an attempt may time out).
    expect([made, lost]).toEqual([receiver.requests.length, 0])
    expect(twice).toBe(failed)
    for (const each of [killed.api, ...killed.dispatchers]) {
      expect(() => process.kill(each.pid, 0)).not.toThrow()
    }
  })

  test('that does not take settles for 12 s: what was answered is settled then, and sent once', async () => {
    const endpoint = await locked.makeEndpoint(tenant, { url: `${otherReceiver.url}/locked`, max_in_flight: 50 })
    const ids = await locked.publishAll(
      tenant,
      Array.from({ length: 500 }, (_, n) => ({ type: 'x', payload: String(n) })),
    )
    await otherReceiver.waitFor(100, 10_000)
    const client = await locked.pool.connect()
    let settledBefore = 0
    let arrivedBefore = 0
    try {
      await client.query('begin')
      await client.query('lock table posthorn.delivery in access exclusive mode')
      const { rows } = await client.query<{ n: number }>('select count(*)::int as n from posthorn.attempt')
      settledBefore = rows[0]!.n
      await sleep(12_000)
      arrivedBefore = otherReceiver.requests.length
      await client.query('commit')
    } finally {
      client.release()
    }
    // There were answers that could not be settled.
    expect(arrivedBefore).toBeGreaterThan(settledBefore)
    expect(arrivedBefore).toBeLessThan(500)
    await locked.drained(15_000)
    expect(new Set(otherReceiver.requests.map(webhookId))).toEqual(new Set(ids))
    const twice = duplicates(otherReceiver.requests)
    console.log(`locked for 12 s with ${arrivedBefore - settledBefore} answers to settle: ${twice} of 500 came twice`)
    expect(twice).toBe(0)
    expect(otherReceiver.maxInFlight('/locked')).toBeLessThanOrEqual(50)
    for (const id of ids) {
      const { status, body } = await locked.delivery(tenant, id, endpoint.id)
      expect([status, body.state, body.attempts]).toEqual([200, 'succeeded', 1])
    }
  })
})

/** Publishes all the while, half of it with keys that are used until they are accepted. Keeps what was answered. */
function startPublishers(cluster: Cluster) {
  const accepted = new Set<string>()
  const refused: ApiAnswer[] = []
  let stopping = false
  let keys = 0

  async function publish(type: 'keyed' | 'plain', headers: Record<string, string>): Promise<boolean> {
    const raw = `{"type":"${type}","payload":{"a":1}}`
    const answer = await cluster.call('POST', `/tenants/${tenant}/events`, { raw, headers })
    if (answer.status === 202) accepted.add(answer.body.id)
    else refused.push(answer)
    if (answer.status !== 202) await sleep(100)
    return answer.status === 202
  }

  async function keyed(): Promise<void> {
    while (!stopping) {
      const headers = { 'idempotency-key': `key ${keys++}` }
      while (!(await publish('keyed', headers)));
    }
  }

  async function plain(): Promise<void> {
    while (!stopping) await publish('plain', {})
  }

  const running = [keyed(), keyed(), keyed(), plain(), plain(), plain()]
  return {
    accepted,
    refused,
    get keys() {
      return keys
    },
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }
}
