import { setTimeout as sleep } from 'node:timers/promises'
import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiAnswer, type Cluster, startCluster, type TestEndpoint } from '../support/cluster.ts'
import { type Received, type Receiver, type Respond, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { byPath, duplicates, verifyWebhook, webhookId } from '../support/webhooks.ts'

const tenant = 'changes'

let cluster: Cluster
let receiver: Receiver
const answers = new Map<string, Respond>()

beforeAll(async () => {
  receiver = await startReceiver({ respond: (request) => answers.get(request.path)?.(request) ?? { status: 200 } })
  cluster = await startCluster({ dispatchers: 2 })
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

function endpointAt(path: string, respond: Respond, input: Record<string, unknown> = {}): Promise<TestEndpoint> {
  answers.set(`/${path}`, respond)
  return cluster.makeEndpoint(tenant, { url: `${receiver.url}/${path}`, event_types: [path], ...input })
}

function publishMany(type: string, count: number): Promise<string[]> {
  return cluster.publishAll(
    tenant,
    Array.from({ length: count }, (_, n) => ({ type, payload: String(n) })),
  )
}

const arrived = (path: string): Received[] => byPath(receiver.requests).get(`/${path}`) ?? []
const countAt = (path: string, count: number) => receiver.waitUntil(() => arrived(path).length >= count, 15_000)

async function leasedAt(endpoint: TestEndpoint): Promise<Set<string>> {
  const { rows } = await cluster.pool.query<{ id: string }>(
    `select posthorn.type_id('evt', event_id) as id from posthorn.delivery where state = 1 and endpoint_id = $1`,
    [decodeId('ep', endpoint.id)],
  )
  return new Set(rows.map((row) => row.id))
}

/** Waits until nothing is leased at the lane, and returns how many requests it has got by then. */
async function quietAt(path: string, endpoint: TestEndpoint): Promise<number> {
  await eventually(async () => (await leasedAt(endpoint)).size === 0, 10_000)
  return arrived(path).length
}

async function statesOf(endpoint: TestEndpoint, ids: readonly string[]): Promise<Map<string, ApiAnswer['body'][]>> {
  const all = await Promise.all(ids.map(async (id) => (await cluster.delivery(tenant, id, endpoint.id)).body))
  return Map.groupBy(all, (each) => each.state)
}

describe('the status of an endpoint, under traffic', () => {
  const slow: Respond = async () => {
    await sleep(15)
    return { status: 200 }
  }

  test('after a pause is answered nothing new is leased; resumed, it goes on', async () => {
    const endpoint = await endpointAt('paused', slow, { max_in_flight: 5 })
    const ids = await publishMany('paused', 300)
    for (let round = 1; round <= 8; round++) {
      await countAt('paused', round * 20)
      expect((await cluster.patchEndpoint(tenant, endpoint.id, { status: 'paused' })).status).toBe(200)
      // What may still come: what was leased at some moment after the answer, or has arrived by then.
      const leased = await leasedAt(endpoint)
      const allowed = new Set([...arrived('paused').map(webhookId), ...leased])
      expect(leased.size).toBeLessThanOrEqual(5)
      await quietAt('paused', endpoint)
      expect(arrived('paused').filter((request) => !allowed.has(webhookId(request)))).toEqual([])
      if (round === 8) break
      expect((await cluster.patchEndpoint(tenant, endpoint.id, { status: 'enabled' })).status).toBe(200)
    }
    const before = arrived('paused').length
    expect(before).toBeLessThan(300)
    // Two sweeps and more, and a doorbell, bring nothing.
    ids.push(...(await publishMany('paused', 10)))
    await sleep(700)
    expect(arrived('paused')).toHaveLength(before)
    const states = await statesOf(endpoint, ids)
    expect([states.get('succeeded')?.length, states.get('pending')?.length]).toEqual([before, 310 - before])

    const resumedAt = Date.now()
    expect((await cluster.patchEndpoint(tenant, endpoint.id, { status: 'enabled' })).status).toBe(200)
    await countAt('paused', before + 1)
    expect(Date.now() - resumedAt).toBeLessThan(2_000)
    await countAt('paused', 310)
    await quietAt('paused', endpoint)
    expect(duplicates(arrived('paused'))).toBe(0)
    expect(arrived('paused')).toHaveLength(310)
    expect(receiver.maxInFlight('/paused')).toBeLessThanOrEqual(5)
  })

  const closings = [
    { how: 'disabled', reason: 'endpoint_disabled', type: 'closed-by-patch' },
    { how: 'deleted', reason: 'endpoint_deleted', type: 'closed-by-delete' },
  ]
  test.each(closings)('$how: what waits is canceled, what is in flight ends, nothing new is owed', async (closing) => {
    const { how, reason, type } = closing
    const failing: string[] = []
    const endpoint = await endpointAt(
      type,
      async (request) => {
        await sleep(15)
        // Some wait for a retry when it comes to the closing.
        const fails = arrived(type).length % 4 === 0
        if (fails) failing.push(webhookId(request))
        return { status: fails ? 500 : 200 }
      },
      { max_in_flight: 5, retry_schedule: [600] },
    )
    const ids = await publishMany(type, 200)
    await countAt(type, 40)
    const answer =
      how === 'disabled'
        ? await cluster.patchEndpoint(tenant, endpoint.id, { status: 'disabled' })
        : await cluster.call('DELETE', `/tenants/${tenant}/endpoints/${endpoint.id}`)
    expect(answer.status).toBe(how === 'disabled' ? 200 : 204)
    const allowed = new Set([...arrived(type).map(webhookId), ...(await leasedAt(endpoint))])
    const later = await cluster.publish(tenant, type, '"later"')
    await eventually(async () => {
      const { rows } = await cluster.pool.query('select 1 from posthorn.delivery where endpoint_id = $1 limit 1', [
        decodeId('ep', endpoint.id),
      ])
      return rows.length === 0
    }, 10_000)
    expect(arrived(type).filter((request) => !allowed.has(webhookId(request)))).toEqual([])
    expect(duplicates(arrived(type))).toBe(0)

    const states = await statesOf(endpoint, ids)
    const succeeded = arrived(type).filter((request) => !failing.includes(webhookId(request)))
    expect(states.get('succeeded')?.length).toBe(succeeded.length)
    expect(states.get('canceled')?.length).toBe(200 - succeeded.length)
    expect(new Set(states.get('canceled')?.map((each) => each.reason))).toEqual(new Set([reason]))
    const event = await cluster.call('GET', `/tenants/${tenant}/events/${later}`)
    expect(event.body.deliveries).toBe(0)
    const read = await cluster.call('GET', `/tenants/${tenant}/endpoints/${endpoint.id}`)
    expect(read.status).toBe(how === 'disabled' ? 200 : 404)
  })

  test('a delivery canceled while it waits is not attempted', async () => {
    const endpoint = await endpointAt('cancel', () => ({ status: 500 }), { retry_schedule: [1] })
    const id = await cluster.publish(tenant, 'cancel', '1')
    await eventually(async () => (await cluster.delivery(tenant, id, endpoint.id)).body.state === 'scheduled', 5_000)
    const path = `/tenants/${tenant}/events/${id}/deliveries/${endpoint.id}/cancel`
    const answer = await cluster.call('POST', path)
    expect([answer.status, answer.body.state, answer.body.reason]).toEqual([200, 'canceled', 'by_request'])
    // Past the time at which the retry was due: another's retry of later arrives.
    await endpointAt('beside', () => ({ status: 500 }), { retry_schedule: [1] })
    await cluster.publish(tenant, 'beside', '1')
    await countAt('beside', 2)
    expect(arrived('cancel')).toHaveLength(1)
  })
})

describe('rotation of secrets', () => {
  const rotate = async (endpoint: TestEndpoint, graceSeconds: number): Promise<string> => {
    const path = `/tenants/${tenant}/endpoints/${endpoint.id}/secret/rotate`
    const { status, body } = await cluster.call('POST', path, { json: { grace_seconds: graceSeconds } })
    expect(status).toBe(200)
    const newest = body.secrets.filter((each: { expires_at: string | null }) => each.expires_at === null)
    expect(newest).toHaveLength(1)
    return newest[0].secret
  }
  const verifies = (secret: string, request: Received): boolean => {
    try {
      verifyWebhook(secret, request)
      return true
    } catch {
      return false
    }
  }
  const next = async (type: string): Promise<Received> => {
    const id = await cluster.publish(tenant, type, '{"a":1}')
    return receiver.waitFor((request) => webhookId(request) === id, 10_000)
  }

  test('within the grace old and new verify; without grace, and after it, the new alone', async () => {
    const endpoint = await endpointAt('rotated', () => ({ status: 200 }))
    const first = endpoint.secret
    expect(verifies(first, await next('rotated'))).toBe(true)
    const second = await rotate(endpoint, 2)
    const rotatedAt = Date.now()
    const within = await next('rotated')
    expect([first, second].map((secret) => verifies(secret, within))).toEqual([true, true])
    expect(String(within.headers['webhook-signature'])).toMatch(/^v1,\S{44} v1,\S{44}$/)
    await eventually(() => Date.now() - rotatedAt > 2_100, 4_000)
    const past = await next('rotated')
    expect([first, second].map((secret) => verifies(secret, past))).toEqual([false, true])
    const third = await rotate(endpoint, 0)
    const after = await next('rotated')
    expect([first, second, third].map((secret) => verifies(secret, after))).toEqual([false, false, true])
    expect(String(after.headers['webhook-signature'])).toMatch(/^v1,\S{44}$/)
  })

  test('a retry is signed by the secrets of its own time', async () => {
    const endpoint = await endpointAt('resigned', () => ({ status: arrived('resigned').length > 1 ? 200 : 500 }), {
      retry_schedule: [1],
    })
    await next('resigned')
    const second = await rotate(endpoint, 0)
    await countAt('resigned', 2)
    const [before, after] = arrived('resigned')
    expect([endpoint.secret, second].map((secret) => verifies(secret, before!))).toEqual([true, false])
    expect([endpoint.secret, second].map((secret) => verifies(secret, after!))).toEqual([false, true])
  })
})

test('50 publishes at once with one idempotency key are one event, delivered once', async () => {
  await endpointAt('once', () => ({ status: 200 }))
  const publish = (payload: string) =>
    cluster.call('POST', `/tenants/${tenant}/events`, {
      raw: `{"type":"once","payload":${payload}}`,
      headers: { 'idempotency-key': 'only once' },
    })
  const answered = await Promise.all(Array.from({ length: 50 }, () => publish('{"total": 1.0}')))
  expect(new Set(answered.map((each) => each.status))).toEqual(new Set([202]))
  expect(new Set(answered.map((each) => each.body.id)).size).toBe(1)
  expect(answered.filter((each) => each.headers.get('idempotent-replayed') !== 'true')).toHaveLength(1)
  expect((await publish('{"total": 1}')).status).toBe(422)
  await countAt('once', 1)
  await cluster.drained(5_000)
  expect(arrived('once')).toHaveLength(1)
  const { rows } = await cluster.pool.query(`select count(*)::int as n from posthorn.event where type = 'once'`)
  expect(rows[0].n).toBe(1)
})
