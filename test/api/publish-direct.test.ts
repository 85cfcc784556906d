import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type Answer, type ApiUnderTest, type CallOptions, operatorToken, startApiUnderTest } from './api-under-test.ts'

// Publishes of one event mostly do not go through the app; those with a query do. Nobody must be able to tell.

let api: ApiUnderTest
const tokens: Record<string, string | null> = {}
beforeAll(async () => {
  api = await startApiUnderTest()
  tokens['none'] = null
  tokens['unknown'] = `phk_${'x'.repeat(43)}`
  tokens['no token of any kind'] = 'short'
  tokens['a tenant'] = await api.makeToken('tenant', 'acme')
  tokens['another tenant'] = await api.makeToken('tenant', 'other')
  tokens['a publisher'] = await api.makeToken('publish')
  tokens['another publisher'] = await api.makeToken('publish', 'other')
})
afterAll(() => api.stop())

/** What both ways may differ in left out. */
function comparable({ status, headers, text }: Answer) {
  const all = Object.fromEntries([...headers].filter(([name]) => name !== 'date'))
  return { status, headers: all, text: text.replaceAll(/evt_\w+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '') }
}

async function expectAlike(given: CallOptions, tenant = 'acme'): Promise<Answer> {
  const options = { ...given, headers: { 'content-type': 'application/json', ...given.headers } }
  const path = `/v1/tenants/${tenant}/events`
  // A token that was not seen lately is looked up by the app.
  await api.call('POST', path, options)
  const direct = await api.call('POST', path, options)
  const other = await api.call('POST', `${path}?`, options)
  expect(comparable(direct)).toEqual(comparable(other))
  return direct
}

const ordinary = '{"type":"a.b","payload":{"n":1}}'

test.each<[string, string | Uint8Array<ArrayBuffer>, number]>([
  ['an event', ordinary, 202],
  [
    'an event with everything',
    '{"type":"a.b","payload":[],"channels":["c"],"ordering_key":"k","deliver_at":"2026-12-01T00:00:00Z"}',
    202,
  ],
  ['white space and escapes', ' { "\\u0074ype" : "a" , "payload" : "\\u00fc" } ', 202],
  ['nothing', '', 400],
  ['no JSON', '{"type":', 400],
  ['no object', '[]', 422],
  ['a byte-order mark', `\ufeff${ordinary}`, 400],
  ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), 400],
  ['a key twice', '{"type":"a","type":"b","payload":1}', 400],
  ['no payload', '{"type":"a"}', 422],
  ['no type', '{"payload":1}', 422],
  ['a type that is none', '{"type":"a b","payload":1}', 422],
  ['a field too many', '{"type":"a","payload":1,"more":1}', 422],
  ['a body of 70 kB', JSON.stringify({ type: 'a', payload: 'x'.repeat(70_000) }), 202],
  ['a payload of more than a megabyte', JSON.stringify({ type: 'a', payload: 'x'.repeat(1_048_577) }), 413],
])('%s is answered alike', async (_, raw, status) => {
  expect((await expectAlike({ raw })).status).toBe(status)
})

test.each<[string, number]>([
  ['none', 401],
  ['unknown', 401],
  ['no token of any kind', 401],
  ['a tenant', 202],
  ['another tenant', 404],
  ['a publisher', 202],
  ['another publisher', 404],
])('the token of %s is answered alike', async (name, status) => {
  expect((await expectAlike({ raw: ordinary, token: tokens[name]! })).status).toBe(status)
})

test.each<[string, Record<string, string>, number]>([
  ['a type with a charset', { 'content-type': 'application/json; charset=utf-8' }, 202],
  ['another type', { 'content-type': 'text/plain' }, 415],
  ['an empty key', { 'idempotency-key': '' }, 422],
  ['a key that is too long', { 'idempotency-key': 'x'.repeat(256) }, 422],
  ['a webhook', { 'posthorn-event-type': 'a' }, 403],
  ['a page of an unknown origin', { origin: 'https://app.example' }, 202],
])('%s among the headers is answered alike', async (_, headers, status) => {
  expect((await expectAlike({ raw: ordinary, headers })).status).toBe(status)
})

test('a key that is used again is answered alike, with the same content and with other', async () => {
  const headers = { 'idempotency-key': 'once' }
  const again = await expectAlike({ raw: ordinary, headers })
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect((await expectAlike({ raw: '{"type":"a","payload":2}', headers })).status).toBe(422)
})

test.each([
  ['posthorn', 422],
  ['.a', 422],
  ['x'.repeat(129), 422],
  ['a%2fb', 422],
])('the tenant %s is answered alike', async (tenant, status) => {
  expect((await expectAlike({ raw: ordinary }, tenant)).status).toBe(status)
})

test.each([
  ['a token twice', `authorization: Bearer ${operatorToken}\r\nauthorization: Bearer x\r\n`, 401],
  ['a type twice', `authorization: Bearer ${operatorToken}\r\ncontent-type: text/plain\r\n`, 415],
  ['a host that is none', `authorization: Bearer ${operatorToken}\r\nhost: a b\r\n`, 400],
])('%s is answered alike', async (_, more, status) => {
  for (const query of ['', '?']) {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    const head = `POST /v1/tenants/acme/events${query} HTTP/1.1\r\n${more.includes('host:') ? '' : 'host: x\r\n'}${more}`
    const fields = `content-type: application/json\r\nconnection: close\r\ncontent-length: ${ordinary.length}\r\n`
    socket.write(`${head}${fields}\r\n${ordinary}`)
    await within(once(socket, 'close'), 10_000, () => `no end after ${answer}`)
    expect(answer.slice(9, 12)).toBe(String(status))
  }
})
