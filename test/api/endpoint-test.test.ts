import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/wait.ts'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
let to: string
beforeAll(async () => {
  api = await startApiUnderTest()
  const json = { url: 'http://127.0.0.1:1/', event_types: ['nothing.else'], channels: ['c'] }
  to = (await api.call('POST', '/v1/tenants/acme/endpoints', { json })).body.id
  await api.call('POST', '/v1/tenants/acme/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
})
afterAll(() => api.stop())

/** Waits until the test's event is there, and logs what a dispatcher would. */
async function attempt(type: string): Promise<Buffer> {
  const row = await eventually(async () => {
    const { rows } = await api.pool.query(
      `select d.event_id, d.endpoint_id, e.payload from posthorn.delivery d join posthorn.event e on e.id = d.event_id where e.type = $1`,
      [type],
    )
    return rows[0]
  }, 10_000)
  await api.pool.query(
    `with ended as (delete from posthorn.delivery where event_id = $1)
     insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at, status)
     values ($1, $2, posthorn.uuid_v7(now()), 1, 1, 4, now(), now(), 204)`,
    [row.event_id, row.endpoint_id],
  )
  return row.payload
}

test('a test is owed to the one endpoint, whatever it filters, and answered with the first attempt', async () => {
  const asking = api.call('POST', `/v1/tenants/acme/endpoints/${to}/test`)
  const payload = JSON.parse((await attempt('posthorn.test')).toString())
  expect(payload).toMatchObject({ type: 'posthorn.test' })
  const answer = await asking
  expect(answer).toMatchObject({
    status: 200,
    body: { endpoint_id: to, number: 1, outcome: 'succeeded', response: { status: 204, body: '' } },
  })
  const { body } = await api.call('GET', `/v1/tenants/acme/events/${answer.body.event_id}`)
  expect(body).toMatchObject({ type: 'posthorn.test', deliveries: 1, payload })
})

test('its type and the bytes of its payload are the caller’s, if there are any', async () => {
  const raw = '{"payload": {"n":1.0 , "u":"\\u00e9"}\n, "type":"mine"}'
  const headers = { 'content-type': 'application/json' }
  const asking = api.call('POST', `/v1/tenants/acme/endpoints/${to}/test`, { raw, headers })
  expect((await attempt('mine')).toString()).toBe('{"n":1.0 , "u":"\\u00e9"}')
  expect((await asking).status).toBe(200)
})

test('one that is canceled before its attempt is answered with the delivery', async () => {
  const asking = api.call('POST', `/v1/tenants/acme/endpoints/${to}/test`, { json: { type: 'canceled' } })
  const event = await eventually(
    async () => (await api.call('GET', '/v1/tenants/acme/events?type=canceled')).body.data[0],
    10_000,
  )
  await api.call('POST', `/v1/tenants/acme/events/${event.id}/deliveries/${to}/cancel`)
  expect(await asking).toMatchObject({ status: 202, body: { state: 'canceled', endpoint_id: to } })
})

test('a caller who goes away is not waited for', async () => {
  const controller = new AbortController()
  const asking = fetch(`${api.url}/v1/tenants/acme/endpoints/${to}/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: '{"type":"gone"}',
    signal: controller.signal,
  })
  await eventually(
    async () => (await api.call('GET', '/v1/tenants/acme/events?type=gone')).body.data.length === 1,
    10_000,
  )
  controller.abort()
  await expect(asking).rejects.toThrow()
})
