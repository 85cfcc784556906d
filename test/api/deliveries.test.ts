import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

async function endpoint(tenant: string, json: Record<string, unknown> = {}): Promise<string> {
  const answer = await api.call('POST', `/v1/tenants/${tenant}/endpoints`, {
    json: { url: 'http://127.0.0.1:1/', ...json },
  })
  expect(answer.status).toBe(201)
  return answer.body.id
}

async function publish(tenant: string, json: Record<string, unknown> = {}): Promise<string> {
  const answer = await api.call('POST', `/v1/tenants/${tenant}/events`, { json: { type: 'a.b', payload: 1, ...json } })
  expect(answer.status).toBe(202)
  return answer.body.id
}

const uuids = (event: string, endpoint: string) => [decodeId('evt', event), decodeId('ep', endpoint)]

/** What a claim does to the row. */
async function lease(event: string, endpoint: string): Promise<void> {
  await api.pool.query(
    `update posthorn.delivery set state = 1, attempts = attempts + 1, ticket = nextval('posthorn.ticket'),
       lease_expires_at = now() + interval '1 minute' where event_id = $1 and endpoint_id = $2`,
    uuids(event, endpoint),
  )
}

type Logged = { outcome: number; state: number; status?: number; error?: string; reason?: string }

/** What a settle does: the row ends or is scheduled, and the attempt is logged. */
async function settle(
  event: string,
  endpoint: string,
  { outcome, state, status, error, reason }: Logged,
): Promise<void> {
  await api.pool.query(
    `with row as (
       select attempts from posthorn.delivery where event_id = $1 and endpoint_id = $2
     ), ended as (
       delete from posthorn.delivery where event_id = $1 and endpoint_id = $2 and $4::integer >= 4
     ), moved as (
       update posthorn.delivery set state = 2, due_at = now() + interval '5 seconds', lease_expires_at = null
       where event_id = $1 and endpoint_id = $2 and $4::integer = 2
     )
     insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at, duration_ms,
       status, error_code, error_phase, error_message, url, signature, user_agent, header_names, response_headers, response_body)
     select $1, $2, posthorn.uuid_v7(clock_timestamp()), row.attempts, $3, $4::integer, $5, '2026-01-02T03:04:05.999Z', now(), 12, $6::integer, $7::text,
       case when $7::text is not null then 'connect' end, case when $7::text is not null then 'in words' end,
       'http://127.0.0.1:1/', 'v1,c2ln', 'Posthorn/0.1.0', '{x-key}',
       case when $6::integer is not null then '[["Content-Type","text/plain"],["Set-Cookie","a"],["set-cookie","b"]]' end,
       case when $6::integer is not null then convert_to('né', 'UTF8') end
     from row`,
    [...uuids(event, endpoint), outcome, state, reason ?? null, status ?? null, error ?? null],
  )
}

const deliveryPath = (tenant: string, event: string, endpoint: string) =>
  `/v1/tenants/${tenant}/events/${event}/deliveries/${endpoint}`

async function read(tenant: string, event: string, endpoint: string) {
  const answer = await api.call('GET', deliveryPath(tenant, event, endpoint))
  expect(answer.status).toBe(200)
  return answer.body
}

test('a delivery through its life, as users see it', async () => {
  const to = await endpoint('life', { uid: 'main', headers: { 'x-key': 'secret' } })
  const event = await publish('life')
  const path = deliveryPath('life', event, to)
  const pending = await read('life', event, to)
  expect(pending).toEqual({
    event_id: event,
    endpoint_id: to,
    tenant_id: 'life',
    event_type: 'a.b',
    state: 'pending',
    reason: null,
    attempts: 0,
    next_attempt_at: null,
    last_status: null,
    last_error: null,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    ended_at: null,
  })
  expect(await read('life', event, 'main')).toEqual(pending)
  expect((await api.call('GET', `${path}/attempts`)).body).toEqual({ data: [], next_cursor: null })

  await lease(event, to)
  expect(await read('life', event, to)).toMatchObject({ state: 'in_flight', attempts: 1 })
  for (const action of ['redeliver', 'cancel']) {
    expect(await api.call('POST', `${path}/${action}`)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
  }

  await settle(event, to, { outcome: 2, state: 2, error: 'ECONNREFUSED' })
  const scheduled = await read('life', event, to)
  expect(scheduled).toMatchObject({ state: 'scheduled', attempts: 1, last_status: null, last_error: 'ECONNREFUSED' })
  expect(Date.parse(scheduled.next_attempt_at)).toBeGreaterThan(Date.now())

  const before = await ticket(event, to)
  expect(await api.call('POST', `${path}/redeliver`)).toMatchObject({
    status: 202,
    body: { state: 'pending', attempts: 1, next_attempt_at: null },
  })
  expect(await ticket(event, to)).toBeGreaterThan(before)

  await lease(event, to)
  await settle(event, to, { outcome: 2, state: 5, status: 503, reason: 'exhausted' })
  const failed = await read('life', event, to)
  expect(failed).toMatchObject({
    state: 'failed',
    reason: 'exhausted',
    attempts: 2,
    last_status: 503,
    last_error: null,
  })
  expect(failed.ended_at).not.toBeNull()
  expect(await api.call('POST', `${path}/cancel`)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })

  expect(await api.call('POST', `${path}/redeliver`)).toMatchObject({
    status: 202,
    body: { state: 'pending', attempts: 2, reason: null, ended_at: null, last_status: 503 },
  })
  const again = await ticket(event, to)
  expect(await api.call('POST', `${path}/redeliver`)).toMatchObject({ status: 202, body: { state: 'pending' } })
  expect(await ticket(event, to)).toBe(again)

  for (let i = 0; i < 2; i++) {
    expect(await api.call('POST', `${path}/cancel`)).toMatchObject({
      status: 200,
      body: { state: 'canceled', reason: 'by_request', attempts: 2, last_status: 503 },
    })
  }
  await api.call('POST', `${path}/redeliver`)
  await lease(event, to)
  await settle(event, to, { outcome: 1, state: 4, status: 200 })
  expect(await read('life', event, to)).toMatchObject({
    state: 'succeeded',
    reason: null,
    attempts: 3,
    last_status: 200,
  })

  const attempts = await api.call('GET', `${path}/attempts`)
  expect(attempts.body.data.map((each: { number: number }) => each.number)).toEqual([3, 2, 1])
  expect(attempts.body.data[0]).toEqual({
    id: expect.stringMatching(/^att_/),
    event_id: event,
    endpoint_id: to,
    number: 3,
    started_at: '2026-01-02T03:04:05.999Z',
    duration_ms: 12,
    url: 'http://127.0.0.1:1/',
    outcome: 'succeeded',
    state: 'succeeded',
    error: null,
    request: {
      headers: {
        'webhook-id': event,
        'webhook-timestamp': '1767323045',
        'webhook-signature': 'v1,c2ln',
        'posthorn-event-type': 'a.b',
        'content-type': 'application/json',
        'user-agent': 'Posthorn/0.1.0',
        'x-key': '***',
      },
    },
    response: {
      status: 200,
      headers: { 'content-type': 'text/plain', 'set-cookie': 'a, b' },
      body: 'né',
      body_encoding: 'utf8',
      truncated: false,
    },
  })
  expect(attempts.body.data[2]).toMatchObject({
    error: { code: 'ECONNREFUSED', phase: 'connect', message: 'in words' },
    response: null,
  })
  const first = await api.call('GET', `${path}/attempts?limit=2`)
  const second = await api.call('GET', `${path}/attempts?limit=2&cursor=${first.body.next_cursor}`)
  expect([...first.body.data, ...second.body.data]).toEqual(attempts.body.data)
  expect(second.body.next_cursor).toBeNull()
})

async function ticket(event: string, endpoint: string): Promise<number> {
  const { rows } = await api.pool.query(
    'select ticket from posthorn.delivery where event_id = $1 and endpoint_id = $2',
    uuids(event, endpoint),
  )
  return Number(rows[0].ticket)
}

test('a superseded attempt is listed and decides nothing', async () => {
  const to = await endpoint('late')
  const event = await publish('late')
  await lease(event, to)
  await settle(event, to, { outcome: 4, state: 0, status: 500 })
  await settle(event, to, { outcome: 1, state: 4, status: 204 })
  await api.pool.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at)
     values ($1, $2, posthorn.uuid_v7(now()), 9, 4, 0, now(), now())`,
    uuids(event, to),
  )
  expect(await read('late', event, to)).toMatchObject({ state: 'succeeded', last_status: 204, attempts: 1 })
  const { body } = await api.call('GET', `${deliveryPath('late', event, to)}/attempts`)
  expect(body.data.map((each: { outcome: string }) => each.outcome)).toEqual(['superseded', 'succeeded', 'superseded'])
})

test('a scheduled event waits, and is sent at once when asked', async () => {
  const to = await endpoint('when')
  const later = new Date(Date.now() + 29 * 86_400_000)
  const event = await publish('when', { deliver_at: later.toISOString() })
  expect(await read('when', event, to)).toMatchObject({ state: 'scheduled', next_attempt_at: later.toISOString() })
  expect((await api.call('POST', `${deliveryPath('when', event, to)}/redeliver`)).body.state).toBe('pending')
  const past = await publish('when', { deliver_at: '2020-01-01T01:00:00.123+01:00' })
  expect((await api.call('GET', `/v1/tenants/when/events/${past}`)).body.deliver_at).toBe('2020-01-01T00:00:00.123Z')
  expect(await read('when', past, to)).toMatchObject({ state: 'pending' })
})

test('a disabled or deleted endpoint is owed nothing again, and its history is still read', async () => {
  const to = await endpoint('closed')
  const event = await publish('closed')
  await api.call('POST', `${deliveryPath('closed', event, to)}/cancel`)
  const one = `/v1/tenants/closed/endpoints/${to}`
  expect((await api.call('PATCH', one, { json: { status: 'disabled' } })).status).toBe(200)
  const redeliver = () => api.call('POST', `${deliveryPath('closed', event, to)}/redeliver`)
  expect(await redeliver()).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
  expect(await api.call('POST', `${one}/test`)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
  expect((await api.call('DELETE', one)).status).toBe(204)
  expect(await redeliver()).toMatchObject({ status: 409 })
  expect((await api.call('POST', `${one}/test`)).status).toBe(404)
  expect(await read('closed', event, to)).toMatchObject({ state: 'canceled' })
})

describe('what was never owed, or is another tenant’s, is not there', () => {
  let mine: { event: string; to: string; other: string }
  beforeAll(async () => {
    const to = await endpoint('mine', { event_types: ['x'] })
    const event = await publish('mine')
    mine = { event, to, other: await endpoint('theirs') }
    await publish('theirs')
  })

  test.each([
    ['GET', ''],
    ['GET', '/attempts'],
    ['POST', '/redeliver'],
    ['POST', '/cancel'],
  ])('%s %s', async (method, action) => {
    const { event, to, other } = mine
    const unknown = 'evt_01h455vb4pex5vsknk084sn02q'
    for (const path of [
      deliveryPath('mine', event, to),
      deliveryPath('mine', event, other),
      deliveryPath('theirs', event, to),
      deliveryPath('theirs', event, other),
      deliveryPath('mine', unknown, to),
      deliveryPath('mine', event, 'no-such-uid'),
      deliveryPath('mine', event.toUpperCase(), to),
      deliveryPath('mine', 'evt_1', to),
      deliveryPath('nobody', event, to),
    ]) {
      expect(await api.call(method, path + action)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
  })

  test('events of others', async () => {
    for (const suffix of ['', '/payload', '/deliveries']) {
      expect((await api.call('GET', `/v1/tenants/mine/events/${mine.event}${suffix}`)).status).toBe(200)
      expect((await api.call('GET', `/v1/tenants/theirs/events/${mine.event}${suffix}`)).status).toBe(404)
    }
    const token = await api.makeToken('tenant', 'theirs')
    expect((await api.call('GET', `/v1/tenants/mine/events/${mine.event}`, { token })).status).toBe(404)
    expect((await api.call('GET', '/v1/tenants/theirs/events', { token })).body.data).toHaveLength(1)
  })
})
