import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

type Problem = {
  type: string
  title: string
  status: number
  detail: string
  code: string
  errors: { path: string; message: string }[]
}

let api: ApiUnderTest
let before: string
beforeAll(async () => {
  api = await startApiUnderTest()
  await api.call('PUT', '/v1/tenants/acme', { json: {} })
  await api.call('POST', '/v1/tenants/acme/endpoints', { json: { url: 'https://example.com/', uid: 'there' } })
  await api.call('PUT', '/v1/event-types/there', { json: {} })
  before = await stored()
})
afterAll(() => api.stop())

/** All that the control plane has stored. */
async function stored(): Promise<string> {
  const { rows } = await api.pool.query(`
    select coalesce(jsonb_agg(r.row order by r.row::text), '[]')::text as text from (
      select to_jsonb(t) as row from posthorn.tenant t union all select to_jsonb(e) from posthorn.endpoint e
      union all select to_jsonb(l) from posthorn.lane l union all select to_jsonb(s) from posthorn.endpoint_secret s
      union all select to_jsonb(y) from posthorn.event_type y union all select to_jsonb(k) from posthorn.api_key k) r`)
  return rows[0].text
}

async function expectRefused(answer: Answer<Problem>, status: number, path?: string): Promise<void> {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(Object.keys(answer.body).sort()).toEqual(['code', 'detail', 'errors', 'status', 'title', 'type'])
  expect(answer.body.status).toBe(status)
  expect(answer.text).not.toMatch(implementationWords)
  if (path !== undefined) expect(answer.body.errors.map((error) => error.path)).toContain(path)
  for (const error of answer.body.errors) {
    expect(error).toEqual({ path: expect.stringMatching(/^(\/.*)?$/s), message: expect.any(String) })
  }
  expect(await stored()).toBe(before)
}

/** What the validator would say by itself. */
const implementationWords =
  /Invalid (?:input|option|string|key|element|ISO)|Too (?:big|small)|expected |received|nonoptional|undefined|NaN|pattern \/|\bzod\b|Unrecognized|>=|<=/

const https = 'https://example.com/'
const long = (length: number) => 'x'.repeat(length)
const lone = '\ud800'
const manyKeys = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v']))
const manyHeaders = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, 'v']))

/** Fields that registration and change share: what is wrong, and where. */
const endpointFields: [name: string, json: unknown, path: string][] = [
  ['url: a number', { url: 7 }, '/url'],
  ['url: null', { url: null }, '/url'],
  ['url: empty', { url: '' }, '/url'],
  ['url: no URL', { url: 'example.com' }, '/url'],
  ['url: another scheme', { url: 'ftp://example.com/' }, '/url'],
  ['url: credentials', { url: 'https://a:b@example.com/' }, '/url'],
  ['url: a private address', { url: 'http://10.0.0.1/' }, '/url'],
  ['url: the metadata service', { url: 'http://169.254.169.254/latest' }, '/url'],
  ['url: a fragment', { url: 'https://example.com/#a' }, '/url'],
  ['url: an empty fragment', { url: 'https://example.com/a?b#' }, '/url'],
  ['url: too long', { url: `https://example.com/${long(2048)}` }, '/url'],
  ['url: U+0000', { url: 'https://example.com/\0' }, '/url'],
  ['url: lone surrogate', { url: `https://example.com/${lone}` }, '/url'],
  ['uid: a number', { uid: 1 }, '/uid'],
  ['uid: empty', { uid: '' }, '/uid'],
  ['uid: a slash', { uid: 'a/b' }, '/uid'],
  ['uid: too long', { uid: long(129) }, '/uid'],
  ['uid: U+0000', { uid: 'a\0' }, '/uid'],
  ['uid: like an id', { uid: 'ep_00000000000000000000000000' }, '/uid'],
  ['description: an object', { description: {} }, '/description'],
  ['description: too long', { description: long(1025) }, '/description'],
  ['description: U+0000', { description: '\0' }, '/description'],
  ['description: lone surrogate', { description: lone }, '/description'],
  ['event_types: a string', { event_types: 'a' }, '/event_types'],
  ['event_types: empty', { event_types: [] }, '/event_types'],
  ['event_types: a bad name', { event_types: ['a', 'a b'] }, '/event_types/1'],
  ['event_types: a star alone', { event_types: ['*'] }, '/event_types/0'],
  ['event_types: a star within', { event_types: ['a.*.b'] }, '/event_types/0'],
  ['event_types: too long', { event_types: [long(129)] }, '/event_types/0'],
  ['event_types: null within', { event_types: [null] }, '/event_types/0'],
  ['event_types: too many', { event_types: Array.from({ length: 257 }, () => 'a') }, '/event_types'],
  ['event_types: U+0000', { event_types: ['a', '\0'] }, '/event_types/1'],
  ['channels: empty', { channels: [] }, '/channels'],
  ['channels: a bad name', { channels: ['a,b'] }, '/channels/0'],
  ['channels: lone surrogate', { channels: [lone] }, '/channels/0'],
  ['filter: nothing asked', { filter: { a: 1 } }, '/filter'],
  ['rate_limit: false', { rate_limit: false }, '/rate_limit'],
  ['rate_limit: a number', { rate_limit: 10 }, '/rate_limit'],
  ['rate_limit: an array', { rate_limit: [10, 1] }, '/rate_limit'],
  ['rate_limit: no time', { rate_limit: { limit: 10 } }, '/rate_limit/per_seconds'],
  ['rate_limit: no limit', { rate_limit: { per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: 0', { rate_limit: { limit: 0, per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: 10001', { rate_limit: { limit: 10_001, per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: a fraction', { rate_limit: { limit: 1.5, per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: a string', { rate_limit: { limit: '10', per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: null within', { rate_limit: { limit: null, per_seconds: 1 } }, '/rate_limit/limit'],
  ['rate_limit: in 0 s', { rate_limit: { limit: 1, per_seconds: 0 } }, '/rate_limit/per_seconds'],
  ['rate_limit: in 3601 s', { rate_limit: { limit: 1, per_seconds: 3601 } }, '/rate_limit/per_seconds'],
  ['rate_limit: in a fraction', { rate_limit: { limit: 1, per_seconds: 0.5 } }, '/rate_limit/per_seconds'],
  ['rate_limit: an unknown field', { rate_limit: { limit: 1, per_seconds: 1, burst: 9 } }, '/rate_limit/burst'],
  ['ordering: unknown', { ordering: 'random' }, '/ordering'],
  ['ordering: a number', { ordering: 1 }, '/ordering'],
  ['ordering: another spelling', { ordering: 'by-key' }, '/ordering'],
  ['status: unknown', { status: 'deleted' }, '/status'],
  ['status: a number', { status: 1 }, '/status'],
  ['max_in_flight: 0', { max_in_flight: 0 }, '/max_in_flight'],
  ['max_in_flight: negative', { max_in_flight: -1 }, '/max_in_flight'],
  ['max_in_flight: 1001', { max_in_flight: 1001 }, '/max_in_flight'],
  ['max_in_flight: a fraction', { max_in_flight: 1.5 }, '/max_in_flight'],
  ['max_in_flight: a string', { max_in_flight: '20' }, '/max_in_flight'],
  ['timeout_ms: 999', { timeout_ms: 999 }, '/timeout_ms'],
  ['timeout_ms: 30001', { timeout_ms: 30001 }, '/timeout_ms'],
  ['timeout_ms: huge', { timeout_ms: 1e300 }, '/timeout_ms'],
  ['retry_schedule: a number', { retry_schedule: 5 }, '/retry_schedule'],
  ['retry_schedule: a fraction', { retry_schedule: [0.5] }, '/retry_schedule/0'],
  ['retry_schedule: a string', { retry_schedule: ['5s'] }, '/retry_schedule/0'],
  ['retry_schedule: null within', { retry_schedule: [1, null] }, '/retry_schedule/1'],
  ['retry_schedule: too many', { retry_schedule: Array.from({ length: 21 }, () => 1) }, '/retry_schedule'],
  ['retry_schedule: negative', { retry_schedule: [1, -1] }, '/retry_schedule/1'],
  ['retry_schedule: too long', { retry_schedule: [604801] }, '/retry_schedule/0'],
  ['metadata: an array', { metadata: [] }, '/metadata'],
  ['metadata: a number within', { metadata: { a: 1 } }, '/metadata/a'],
  ['metadata: too many', { metadata: manyKeys }, '/metadata'],
  ['metadata: too large', { metadata: { a: long(16 * 1024) } }, '/metadata'],
  ['metadata: U+0000', { metadata: { 'a/b': 'x\0' } }, '/metadata/a~1b'],
  ['metadata: lone surrogate', { metadata: { a: lone } }, '/metadata/a'],
  ['metadata: U+0000 in a key', { metadata: { 'a\0': 'x' } }, '/metadata/a\u2400'],
  ['metadata: an empty key', { metadata: { '': 'x' } }, '/metadata/'],
  ['headers: an array', { headers: ['a: b'] }, '/headers'],
  ['headers: a number', { headers: { 'x-a': 1 } }, '/headers/x-a'],
  ['headers: a boolean', { headers: { 'x-a': true } }, '/headers/x-a'],
  ['headers: an object', { headers: { 'x-a': {} } }, '/headers/x-a'],
  ['headers: CR LF', { headers: { 'x-a': 'a\r\nX-Injected: 1' } }, '/headers/x-a'],
  ['headers: U+0000', { headers: { 'x-a': 'a\0b' } }, '/headers/x-a'],
  ['headers: a control', { headers: { 'x-a': 'a\u007f' } }, '/headers/x-a'],
  ['headers: a C1 control', { headers: { 'x-a': 'a\u0085' } }, '/headers/x-a'],
  ['headers: above U+00FF', { headers: { 'x-owner': 'Mari\u0107' } }, '/headers/x-owner'],
  ['headers: too long', { headers: { 'x-a': long(1025) } }, '/headers/x-a'],
  ['headers: a bad name', { headers: { 'bad name:': 'a' } }, '/headers/bad name:'],
  ['headers: an empty name', { headers: { '': 'a' } }, '/headers/'],
  ['headers: twice', { headers: { 'x-a': 'a', 'X-A': 'b' } }, '/headers/X-A'],
  ['headers: too many', { headers: manyHeaders }, '/headers'],
  ['headers: the mask', { headers: { 'x-a': '***' } }, '/headers/x-a'],
  ...[
    'Webhook-Signature',
    ' webhook-id ',
    'WEBHOOK-TIMESTAMP',
    'webhook-anything',
    'Posthorn-Event-Type',
    'content-type',
    'Content-Length',
    'host',
    'transfer-encoding',
    'connection',
    'Keep-Alive',
    'proxy-authorization',
    'expect',
    'te',
    'trailer',
    'upgrade',
    'User-Agent',
    'accept-encoding',
  ].map((name): [string, unknown, string] => [`headers: ${name}`, { headers: { [name]: 'a' } }, `/headers/${name}`]),
  ['an unknown field', { colour: 'red' }, '/colour'],
  ['a field of the answer', { created_at: '2026-01-01T00:00:00Z' }, '/created_at'],
  ['a field with a slash', { 'a/b~': 1 }, '/a~1b~0'],
]

describe('fields of an endpoint', () => {
  test.each(endpointFields)('%s', async (_, json, path) => {
    const create = { url: https, ...(json as object) }
    await expectRefused(await api.call('POST', '/v1/tenants/acme/endpoints', { json: create }), 422, path)
    await expectRefused(await api.call('PATCH', '/v1/tenants/acme/endpoints/there', { json }), 422, path)
  })
})

describe('fields of other bodies', () => {
  test.each([
    ['POST', '/v1/tenants/acme/endpoints', {}, '/url'],
    ['POST', '/v1/tenants/acme/endpoints', { url: https, secret: 'whsec_AAAA' }, '/secret'],
    ['POST', '/v1/tenants/acme/endpoints', { url: https, secret: 'x' }, '/secret'],
    ['POST', '/v1/tenants/acme/endpoints', { url: https, secret: 1 }, '/secret'],
    ['PATCH', '/v1/tenants/acme/endpoints/there', { secret: null }, '/secret'],
    ['POST', '/v1/tenants/posthorn/events', { type: 'a', payload: 1 }, '/tenant'],
    ['POST', '/v1/tenants/a%00b/endpoints', { url: https }, '/tenant'],
    ['POST', '/v1/tenants/-a/endpoints', { url: https }, '/tenant'],
    ['PUT', '/v1/tenants/acme', { name: 1 }, '/name'],
    ['PUT', '/v1/tenants/acme', { name: long(257) }, '/name'],
    ['PUT', '/v1/tenants/acme', { name: 'a\0' }, '/name'],
    ['PUT', '/v1/tenants/acme', { name: lone }, '/name'],
    ['PUT', '/v1/tenants/acme', { metadata: { a: null } }, '/metadata/a'],
    ['PUT', '/v1/tenants/acme', { id: 'acme' }, '/id'],
    ['PUT', '/v1/event-types/there', { description: 1 }, '/description'],
    ['PUT', '/v1/event-types/there', { description: long(4001) }, '/description'],
    ['PUT', '/v1/event-types/there', { description: '\0' }, '/description'],
    ['PUT', '/v1/event-types/there', { archived: 'yes' }, '/archived'],
    ['PUT', '/v1/event-types/there', { name: 'there' }, '/name'],
    ['POST', '/v1/api-keys', { kind: 'operator', name: long(257) }, '/name'],
    ['POST', '/v1/api-keys', { kind: 'operator', name: '\0' }, '/name'],
    ['POST', '/v1/api-keys', { kind: 'operator', name: lone }, '/name'],
  ])('%s %s %j', async (method, at, json, path) => {
    await expectRefused(await api.call(method, at, { json }), 422, path)
  })
})

const withBody: [method: string, path: string][] = [
  ['POST', '/v1/tenants/acme/endpoints'],
  ['PATCH', '/v1/tenants/acme/endpoints/there'],
  ['POST', '/v1/tenants/acme/endpoints/there/secret/rotate'],
  ['PUT', '/v1/tenants/acme'],
  ['PUT', '/v1/event-types/there'],
  ['POST', '/v1/api-keys'],
]

describe.each(withBody)('the body of %s %s', (method, at) => {
  const json = { 'content-type': 'application/json' }

  test.each([
    [400, '/', '{"a": "b', 'truncated'],
    [400, '/', '{"a": 1,}', 'a comma too many'],
    [400, '/', '{}{}', 'two values'],
    [400, '/', 'hello', 'a word'],
    [400, '/', '\ufeff{}', 'a byte-order mark'],
    [400, '/', `${'['.repeat(501)}${']'.repeat(501)}`, 'nested 501 deep'],
    [400, '/', `${'['.repeat(500_000)}`, 'nested for ever'],
    [400, '/', '{"url": "https://example.com/", "url": "https://example.com/"}', 'a key twice'],
    [400, '/', '{"metadata": {"a": "b", "\\u0061": "c"}}', 'a key twice, once escaped'],
    [422, '/', '[]', 'an array'],
    [422, '/', 'null', 'null'],
    [422, '/', '"{}"', 'a string'],
    [422, '/', `${'['.repeat(500)}${']'.repeat(500)}`, 'nested 500 deep'],
    [422, '/', '{"__proto__": {"url": "https://example.com/"}}', '__proto__'],
    [422, '/', '{"constructor": 1}', 'constructor'],
  ])('%i for %s%.0s%.0s %s', async (status, _, raw) => {
    await expectRefused(await api.call(method, at, { raw, headers: json }), status)
  })

  test('that is not UTF-8 is a 400', async () => {
    for (const bytes of [
      [0x7b, 0xff, 0x7d],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xff, 0xfe, 0x7b, 0x00],
    ]) {
      const answer = await api.call(method, at, { raw: Uint8Array.from(bytes), headers: json })
      await expectRefused(answer, 400)
      expect(answer.body.code).toBe('invalid_utf8')
    }
  })

  test.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/jsonp',
    'application/json; charset=latin1',
    'json',
  ])('of the type %s is a 415', async (type) => {
    const raw = new TextEncoder().encode('{"url": "https://example.com/"}')
    await expectRefused(
      await api.call(method, at, { raw, headers: type === undefined ? {} : { 'content-type': type } }),
      415,
    )
  })

  test('that is larger than 1 MiB is a 413, announced or not', async () => {
    const raw = new TextEncoder().encode(`{"a": "${long(1024 * 1024)}"}`)
    await expectRefused(await api.call(method, at, { raw, headers: json }), 413)
    const stream = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 32; i++) controller.enqueue(raw.slice(0, 64 * 1024))
        controller.close()
      },
    })
    const headers = { ...json, authorization: 'Bearer phk_operator-of-the-tests' }
    const chunked = await fetch(api.url + at, { method, headers, body: stream, duplex: 'half' } as RequestInit)
    expect(chunked.status).toBe(413)
    expect(await chunked.json()).toMatchObject({ code: 'body_too_large' })
  })

  test('that is missing is a 4xx, where anything is required', async () => {
    if (at.endsWith('/rotate')) return
    await expectRefused(await api.call(method, at), 415)
    await expectRefused(await api.call(method, at, { raw: '', headers: json }), 400)
  })
})

test('the type of a body may name UTF-8, in any letter case', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ; charset="utf-8"',
  ]) {
    const answer = await api.call('PUT', '/v1/tenants/typed', { raw: '{}', headers: { 'content-type': type } })
    expect([200, 201]).toContain(answer.status)
  }
  await api.pool.query(`delete from posthorn.tenant where id = 'typed'`)
})

test('ids of another kind or tenant, and malformed ones, are not found', async () => {
  for (const key of [
    'ep_00000000000000000000000000',
    'key_00000000000000000000000000',
    'x',
    'key_8zzzzzzzzzzzzzzzzzzzzzzzzz',
  ]) {
    await expectRefused(await api.call('DELETE', `/v1/api-keys/${key}`), 404)
  }
  await expectRefused(await api.call('DELETE', '/v1/api-keys/key%00'), 422, '/key')
  await expectRefused(await api.call('GET', '/v1/tenants/other/endpoints/there'), 404)
  await expectRefused(await api.call('PATCH', '/v1/tenants/other/endpoints/there', { json: {} }), 404)
  await expectRefused(await api.call('DELETE', '/v1/tenants/other/endpoints/there'), 404)
  await expectRefused(await api.call('GET', '/v1/tenants/acme/endpoints/a%00'), 422, '/endpoint')
})
