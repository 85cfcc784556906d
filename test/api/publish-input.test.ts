import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
let to: string
beforeAll(async () => {
  api = await startApiUnderTest()
  const { body } = await api.call('POST', '/v1/tenants/acme/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
  to = body.id
})
afterAll(() => api.stop())
afterEach(async () => {
  const { rows } = await api.pool.query(
    `select (select count(*) from posthorn.event)::integer + (select count(*) from posthorn.idempotency_key)::integer
          + (select count(*) from posthorn.delivery)::integer + (select count(*) from posthorn.tenant where id <> 'acme')::integer as n`,
  )
  expect(rows[0].n).toBe(0)
})

const path = '/v1/tenants/acme/events'
const lone = '\ud800'
const far = new Date(Date.now() + 30 * 86_400_000 + 60_000).toISOString()
const channels = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`)

const bad: [name: string, event: unknown, pointer: string][] = [
  ['no payload', { type: 'a' }, '/payload'],
  ['no type', { payload: 1 }, '/type'],
  ['type: null', { type: null, payload: 1 }, '/type'],
  ['type: a number', { type: 7, payload: 1 }, '/type'],
  ['type: empty', { type: '', payload: 1 }, '/type'],
  ['type: a space', { type: 'a b', payload: 1 }, '/type'],
  ['type: an empty word', { type: 'a..b', payload: 1 }, '/type'],
  ['type: a pattern', { type: 'a.*', payload: 1 }, '/type'],
  ['type: too long', { type: 'x'.repeat(129), payload: 1 }, '/type'],
  ['type: NUL', { type: 'a\0', payload: 1 }, '/type'],
  ['type: a lone surrogate', { type: `a${lone}`, payload: 1 }, '/type'],
  ['type: a line break at its end', { type: 'a\n', payload: 1 }, '/type'],
  ['channels: a string', { type: 'a', payload: 1, channels: 'c' }, '/channels'],
  ['channels: none', { type: 'a', payload: 1, channels: [] }, '/channels'],
  ['channels: too many', { type: 'a', payload: 1, channels: channels(65) }, '/channels'],
  ['channels: a number', { type: 'a', payload: 1, channels: ['c', 7] }, '/channels/1'],
  ['channels: a comma', { type: 'a', payload: 1, channels: ['a,b'] }, '/channels/0'],
  ['channels: NUL', { type: 'a', payload: 1, channels: ['a\0'] }, '/channels/0'],
  ['channels: too long', { type: 'a', payload: 1, channels: ['x'.repeat(129)] }, '/channels/0'],
  ['deliver_at: no time', { type: 'a', payload: 1, deliver_at: 'soon' }, '/deliver_at'],
  ['deliver_at: a number', { type: 'a', payload: 1, deliver_at: 1 }, '/deliver_at'],
  ['deliver_at: no such day', { type: 'a', payload: 1, deliver_at: '2026-02-30T00:00:00Z' }, '/deliver_at'],
  ['deliver_at: no offset', { type: 'a', payload: 1, deliver_at: '2026-12-01T00:00:00' }, '/deliver_at'],
  ['deliver_at: too far ahead', { type: 'a', payload: 1, deliver_at: far }, '/deliver_at'],
  ['deliver_at: infinity', { type: 'a', payload: 1, deliver_at: 'infinity' }, '/deliver_at'],
  ['ordering_key: empty', { type: 'a', payload: 1, ordering_key: '' }, '/ordering_key'],
  ['ordering_key: too long', { type: 'a', payload: 1, ordering_key: 'é'.repeat(129) }, '/ordering_key'],
  ['ordering_key: far too long', { type: 'a', payload: 1, ordering_key: 'x'.repeat(50_000) }, '/ordering_key'],
  ['ordering_key: a number', { type: 'a', payload: 1, ordering_key: 7 }, '/ordering_key'],
  ['ordering_key: an object', { type: 'a', payload: 1, ordering_key: {} }, '/ordering_key'],
  ['ordering_key: NUL', { type: 'a', payload: 1, ordering_key: 'a\0' }, '/ordering_key'],
  ['ordering_key: a lone surrogate', { type: 'a', payload: 1, ordering_key: `a${lone}` }, '/ordering_key'],
  ['an unknown field', { type: 'a', payload: 1, data: 2 }, '/data'],
  ['an unknown field with a strange name', { type: 'a', payload: 1, 'a/b~\0': 2 }, '/a~1b~0\u2400'],
  ['a field __proto__', JSON.parse('{"type":"a","payload":1,"__proto__":{"x":1}}'), '/__proto__'],
]

describe.each(bad)('%s', (_, event, pointer) => {
  test('is refused, alone and in a batch, with its place', async () => {
    const headers = { 'idempotency-key': 'k' }
    const single = await api.call('POST', path, { json: event, headers })
    expect(single).toMatchObject({ status: 422, body: { code: 'invalid_request', errors: [{ path: pointer }] } })
    const events = [{ type: 'good', payload: 1 }, event]
    const batch = await api.call('POST', `${path}/batch`, { json: { events }, headers })
    expect(batch).toMatchObject({
      status: 422,
      body: { code: 'invalid_request', errors: [{ path: `/events/1${pointer}` }] },
    })
  })
})

test.each<[name: string, body: unknown, status: number, pointer: string]>([
  ['an array', [], 422, ''],
  ['a string', 'x', 422, ''],
  ['no events', {}, 422, '/events'],
  ['events: null', { events: null }, 422, '/events'],
  ['events: an object', { events: {} }, 422, '/events'],
  ['events: empty', { events: [] }, 422, '/events'],
  ['events: one is null', { events: [{ type: 'a', payload: 1 }, null] }, 422, '/events/1'],
  ['events: 1,001', { events: Array.from({ length: 1_001 }, () => ({ type: 'a', payload: 1 })) }, 422, '/events'],
  ['an unknown field', { events: [{ type: 'a', payload: 1 }], more: 1 }, 422, '/more'],
  ['a payload beside the events', { events: [{ type: 'a', payload: 1 }], payload: 1 }, 422, '/payload'],
])('a batch that is wrong as a whole: %s', async (_, json, status, pointer) => {
  expect(await api.call('POST', `${path}/batch`, { json })).toMatchObject({
    status,
    body: { errors: [{ path: pointer }] },
  })
})

test.each(['', '/batch'])('POST events%s: not JSON, no token, another tenant', async (suffix) => {
  const raw = suffix === '' ? '{"type":"a","payload":1}' : '{"events":[{"type":"a","payload":1}]}'
  for (const type of [
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
  ]) {
    const headers = { 'content-type': type ?? '' }
    expect(await api.call('POST', path + suffix, { raw, headers })).toMatchObject({ status: 415 })
  }
  const headers = { 'content-type': 'application/json' }
  expect((await api.call('POST', path + suffix, { raw, headers, token: null })).status).toBe(401)
  const token = await api.makeToken('publish', 'elsewhere')
  expect((await api.call('POST', path + suffix, { raw, headers, token })).status).toBe(404)
  for (const tenant of ['posthorn', '-a', 'a%20b', 'a%00', '%ff', '%ED%A0%80', 'x'.repeat(129)]) {
    const answer = await api.call('POST', `/v1/tenants/${tenant}/events${suffix}`, { raw, headers })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: '/tenant' }] } })
  }
  expect((await api.call('PUT', path + suffix, { raw, headers })).status).toBe(suffix === '' ? 405 : 405)
})

test.each<[name: string, raw: string, status: number, pointer: string]>([
  ['an unknown field', '{"event":1}', 422, '/event'],
  ['a bad type', '{"type":"a b"}', 422, '/type'],
  ['an array', '[]', 422, ''],
  ['not JSON', '{"payload":', 400, ''],
  ['too deep', `{"payload":${'['.repeat(501)}${']'.repeat(501)}}`, 400, '/payload'],
  ['too large', `{"payload":"${'x'.repeat(1024 * 1024)}"}`, 413, '/payload'],
])('POST test: %s', async (_, raw, status, pointer) => {
  const headers = { 'content-type': 'application/json' }
  const answer = await api.call('POST', `/v1/tenants/acme/endpoints/${to}/test`, { raw, headers })
  expect(answer).toMatchObject({ status, body: { errors: [{ path: pointer }] } })
})

test('POST test: not JSON, no such endpoint', async () => {
  const url = `/v1/tenants/acme/endpoints/${to}/test`
  expect((await api.call('POST', url, { raw: '{}', headers: { 'content-type': 'text/plain' } })).status).toBe(415)
  for (const tenant of ['acme', 'other', 'a%00']) {
    const answer = await api.call('POST', `/v1/tenants/${tenant}/endpoints/ep_01h455vb4pex5vsknk084sn02q/test`)
    expect(answer.status).toBe(tenant === 'a%00' ? 422 : 404)
  }
})
