import { setTimeout as sleep } from 'node:timers/promises'
import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { byPath, duplicates, verifyWebhook, webhookId } from '../support/webhooks.ts'

/*
 * A dispatcher that dies, and one that stalls past its leases. Both wait for the same 14 s, so they wait side by side.
 */
const tenant = 'lost'
const env = { POSTHORN_RETRY_SCHEDULE: '1s,1s,1s' }

let killed: Cluster
let stalled: Cluster
let receiver: Receiver
let slowReceiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver({
    respond: async () => {
      await sleep(60)
      return { status: 200 }
    },
  })
  slowReceiver = await startReceiver()
  killed = await startCluster({ dispatchers: 2, env })
  stalled = await startCluster({ dispatchers: 1, env })
})

afterAll(async () => {
  await Promise.all([killed?.stop(), stalled?.stop()])
  await Promise.all([receiver?.close(), slowReceiver?.close()])
})

describe.concurrent('a dispatcher is lost', () => {
  test('killed under load: all is delivered, its leases are reclaimed within 15 s, only what it had in flight comes twice', async () => {
    const endpointCount = 10
    const eventCount = 300
    const deliveries = endpointCount * eventCount
    const secrets = new Map<string, string>()
    for (let n = 0; n < endpointCount; n++) {
      const { secret } = await killed.makeEndpoint(tenant, { url: `${receiver.url}/${n}` })
      secrets.set(`/${n}`, secret)
    }
    const ids = await killed.publishAll(
      tenant,
      Array.from({ length: eventCount }, (_, n) => ({ type: 'load', payload: String(n) })),
    )
    await receiver.waitFor(deliveries / 4, 20_000)
    const victim = killed.dispatchers[0]!
    await eventually(async () => {
      const arrived = new Set(receiver.requests.map((request) => `${request.path} ${webhookId(request)}`))
      const leased = await killed.leasedTo(victim)
      return leased.filter((each) => arrived.has(`${each.path} ${each.event}`)).length >= 10
    }, 10_000)
    const killedAt = Date.now()
    victim.signal('SIGKILL')
    await victim.exited
    // The server may still carry out what it was sent.
    await sleep(500)
    const lost = await killed.leasedTo(victim)
    // Without these, the test would show nothing.
    expect(lost.length).toBeGreaterThan(0)
    expect(receiver.requests.length).toBeLessThan(deliveries)

    await killed.drained(40_000)
    const paths = byPath(receiver.requests)
    for (const [path, secret] of secrets) {
      const requests = paths.get(path) ?? []
      expect(new Set(requests.map(webhookId))).toEqual(new Set(ids))
      for (const request of requests) verifyWebhook(secret, request)
    }
    const mayDouble = new Set(lost.map((each) => `${each.path} ${each.event}`))
    const keys = receiver.requests.map((request) => `${request.path} ${webhookId(request)}`)
    const twice = keys.filter((key, at) => keys.indexOf(key) !== at)
    expect(twice.filter((key) => !mayDouble.has(key))).toEqual([])
    expect(new Set(twice).size).toBe(twice.length)

    const { rows } = await killed.pool.query<{ event: string; endpoint: string; ms: number }>(
      `select posthorn.type_id('evt', event_id) as event, posthorn.type_id('ep', endpoint_id) as endpoint,
         extract(epoch from ended_at)::float8 * 1000 - $1 as ms
       from posthorn.attempt where outcome = 3`,
      [killedAt],
    )
    const key = (each: { event: string; endpoint: string }): string => `${each.event}/${each.endpoint}`
    expect(new Set(rows.map(key))).toEqual(new Set(lost.map(key)))
    expect(rows).toHaveLength(lost.length)
    const times = rows.map((row) => row.ms)
    console.log(
      `reclaimed ${lost.length} leases ${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))} ms after the kill; ` +
        `${twice.length} of ${deliveries} came twice`,
    )
    expect(Math.max(...times)).toBeLessThanOrEqual(15_000)
    // Not before the victim would have stopped by itself.
    expect(Math.min(...times)).toBeGreaterThan(10_000)
  })

  test('stalled past its leases: others take over; when it goes on it changes nothing, registers again and works', async () => {
    const first = stalled.dispatchers[0]!
    const hanging = new Map<string, PromiseWithResolvers<void>>()
    slowReceiver.respond = async (request) => {
      if (request.path === '/quick') return { status: 200 }
      const id = webhookId(request)
      const turn = slowReceiver.requests.filter((each) => webhookId(each) === id).length
      // The taker's attempts end at once: half for good, half to be tried again in ten minutes.
      if (turn > 1) return { status: request.path === '/good' ? 200 : 500 }
      const wait = Promise.withResolvers<void>()
      hanging.set(id, wait)
      await wait.promise
      return { status: 200 }
    }
    const input = { timeout_ms: 30_000, retry_schedule: [600, 600] }
    const good = await stalled.makeEndpoint(tenant, {
      url: `${slowReceiver.url}/good`,
      event_types: ['good'],
      ...input,
    })
    const bad = await stalled.makeEndpoint(tenant, { url: `${slowReceiver.url}/bad`, event_types: ['bad'], ...input })
    await stalled.makeEndpoint(tenant, { url: `${slowReceiver.url}/quick`, event_types: ['quick'] })
    const ids = await stalled.publishAll(
      tenant,
      Array.from({ length: 12 }, (_, n) => ({ type: n % 2 === 0 ? 'good' : 'bad', payload: String(n) })),
    )
    await slowReceiver.waitFor(12, 10_000)
    expect(await stalled.leasedTo(first)).toHaveLength(12)
    const second = await stalled.startDispatcher()
    first.signal('SIGSTOP')
    const stoppedAt = Date.now()
    // Others are delivered meanwhile.
    const quick = await stalled.publish(tenant, 'quick', '"meanwhile"')
    await slowReceiver.waitFor((request) => webhookId(request) === quick, 5_000)

    // All twelve come a second time, from the other.
    await slowReceiver.waitUntil(() => duplicates(slowReceiver.requests) === 12, 20_000)
    console.log(`a stalled dispatcher's leases were taken over ${Date.now() - stoppedAt} ms after its stall`)
    // Answers that the stalled one will find when it goes on, to half of each kind; the others hang still.
    for (const id of ids.slice(0, 6)) hanging.get(id)!.resolve()
    await eventually(() => Date.now() - stoppedAt > 20_000, 25_000)
    expect(await stalled.leasedTo(second)).toEqual([])

    const before = await snapshot(stalled, ids)
    expect(before.owed).toHaveLength(6)
    expect(before.logged.filter((each) => each.outcome === 3)).toHaveLength(12)
    first.signal('SIGCONT')
    await first.waitForLine(/"msg":"registered again"/, 10_000)
    const superseded = await eventually(async () => {
      const { rows } = await stalled.pool.query<{ status: number | null; error_code: string | null; number: number }>(
        'select status, error_code, number from posthorn.attempt where outcome = 4 order by status',
      )
      return rows.length === 12 && rows
    }, 10_000)
    expect(superseded.map((each) => [each.number, each.status ?? each.error_code])).toEqual([
      ...Array.from({ length: 6 }, () => [1, 200]),
      ...Array.from({ length: 6 }, () => [1, 'aborted']),
    ])
    const after = await snapshot(stalled, ids)
    expect(after.owed).toEqual(before.owed)
    expect(after.logged.filter((each) => each.outcome !== 4)).toEqual(before.logged)
    for (const [at, id] of ids.entries()) {
      const { body } = await stalled.delivery(tenant, id, at % 2 === 0 ? good.id : bad.id)
      expect([body.state, body.last_status]).toEqual(at % 2 === 0 ? ['succeeded', 200] : ['scheduled', 500])
    }
    for (const wait of hanging.values()) wait.resolve()

    second.signal('SIGKILL')
    await second.exited
    const later = await stalled.publish(tenant, 'quick', '"alone"')
    await slowReceiver.waitFor((request) => webhookId(request) === later, 5_000)
    expect(slowReceiver.requests).toHaveLength(12 * 2 + 2)
  })
})

async function snapshot(cluster: Cluster, ids: readonly string[]) {
  const events = ids.map((id) => decodeId('evt', id))
  const { rows: owed } = await cluster.pool.query(
    `select event_id, endpoint_id, ticket, state, step, attempts, due_at, owed_at, fresh, dispatcher_id
     from posthorn.delivery where event_id = any($1::uuid[]) order by event_id, endpoint_id`,
    [events],
  )
  const { rows: logged } = await cluster.pool.query<{ outcome: number }>(
    `select event_id, endpoint_id, id, number, outcome, state, reason, status, next_attempt_at
     from posthorn.attempt where event_id = any($1::uuid[]) order by event_id, endpoint_id, id`,
    [events],
  )
  return { owed, logged }
}
