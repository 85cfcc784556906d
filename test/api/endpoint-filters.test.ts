import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

const endpoints = '/v1/tenants/acme/endpoints'
const url = 'https://example.com/'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const register = (filter: unknown, more: object = {}) => api.call('POST', endpoints, { json: { url, filter, ...more } })
const inRaw = (method: string, path: string, raw: string) =>
  api.call(method, path, { raw, headers: { 'content-type': 'application/json' } })

/** Publishes to a tenant. @returns the endpoints that it is owed to */
async function publish(tenant: string, payload: string, more = ''): Promise<string[]> {
  const made = await inRaw('POST', `/v1/tenants/${tenant}/events`, `{"type":"a.b","payload":${payload}${more}}`)
  expect(made.status).toBe(202)
  const { body } = await api.call('GET', `/v1/tenants/${tenant}/events/${made.body.id}/deliveries`)
  expect(body.data).toHaveLength(made.body.deliveries)
  return body.data.map((each: { endpoint_id: string }) => each.endpoint_id)
}

describe('a filter', () => {
  const big = '{"and":[{"path":"/id","equals":7615917337495251231},{"path":"/x","in":[1.50,-0,1e2,null,"\u00e9"]}]}'

  test('is shown as it was given, each number with all its digits, and taken away by null', async () => {
    const made = await inRaw(
      'POST',
      endpoints,
      `{"url":"${url}", "filter": ${big.replaceAll(',', ' , ')}, "uid":"big"}`,
    )
    expect(made.status).toBe(201)
    for (const answer of [
      made,
      await api.call('GET', `${endpoints}/big`),
      await api.call('GET', `${endpoints}?limit=1`),
      await api.call('PATCH', `${endpoints}/big`, { json: { description: 'x' } }),
    ]) {
      expect(answer.text).toContain(`"filter":${big},`)
    }
    const changed = await inRaw('PATCH', `${endpoints}/big`, '{"filter":{"path":"/id","gt":9007199254740993}}')
    expect(changed.text).toContain('"filter":{"path":"/id","gt":9007199254740993},')
    const gone = await api.call('PATCH', `${endpoints}/big`, { json: { filter: null } })
    expect(gone.body.filter).toBeNull()
    expect((await api.call('GET', `${endpoints}/big`)).body.filter).toBeNull()
    const { rows } = await api.pool.query(
      `select e.filter, e.filter_path, e.version from posthorn.endpoint e where e.uid = 'big'`,
    )
    expect(rows).toEqual([{ filter: null, filter_path: null, version: 4 }])
  })

  test('decides what is published once its answer is there', async () => {
    const at = '/v1/tenants/changing/endpoints'
    const { id } = (await api.call('POST', at, { json: { url, filter: { path: '/n', equals: 1 } } })).body
    expect(await publish('changing', '{"n":1}')).toEqual([id])
    expect(await publish('changing', '{"n":2}')).toEqual([])
    await api.call('PATCH', `${at}/${id}`, { json: { filter: { path: '/n', equals: 2 } } })
    expect(await publish('changing', '{"n":1}')).toEqual([])
    expect(await publish('changing', '{"n":2}')).toEqual([id])
    await api.call('PATCH', `${at}/${id}`, { json: { filter: null } })
    expect(await publish('changing', '{"n":1}')).toEqual([id])
  })

  test('compares big numbers to their last digit', async () => {
    const json = `{"url":"${url}","filter":{"path":"/id","equals":9007199254740993}}`
    const { id } = (await inRaw('POST', '/v1/tenants/digits/endpoints', json)).body
    expect(await publish('digits', '{"id":9007199254740992}')).toEqual([])
    expect(await publish('digits', '{"id":9007199254740993}')).toEqual([id])
  })

  test('does not stand in the way of a test event', async () => {
    const { body } = await register({ path: '/n', equals: 1 }, { uid: 'tested' })
    const signal = AbortSignal.timeout(300)
    // Nobody sends it: it is owed, and waits.
    await fetch(`${api.url}${endpoints}/tested/test`, {
      method: 'POST',
      headers: { authorization: 'Bearer phk_operator-of-the-tests' },
      signal,
    }).catch(() => undefined)
    const owed = await api.call('GET', `/v1/tenants/acme/deliveries?endpoint_id=${body.id}`)
    expect(owed.body.data).toMatchObject([{ event_type: 'posthorn.test', state: 'pending' }])
  })
})

describe('a filter that is broken or too costly is refused, by its place, and nothing is made', () => {
  const deep = Array.from({ length: 11 }).reduce<object>((of) => ({ not: of }), { path: '/a', exists: true })
  test.each<[string, unknown, string]>([
    ['no object', 'x', '/filter'],
    ['text that is JSON', '{"path":"/a","exists":true}', '/filter'],
    ['an array', [], '/filter'],
    ['nothing asked', {}, '/filter'],
    ['no pointer', { path: 'a', equals: 1 }, '/filter/path'],
    ['no path', { and: [{ equals: 1 }] }, '/filter/and/0/path'],
    ['an unknown operator', { path: '/a', matches: '.*' }, '/filter/matches'],
    ['a regular expression', { path: '/a', regex: '(a+)+$' }, '/filter/regex'],
    [
      'an object to equal',
      {
        or: [
          { path: '/a', exists: true },
          { path: '/a', equals: {} },
        ],
      },
      '/filter/or/1/equals',
    ],
    ['a value in a list', { path: '/a', in: [1, {}] }, '/filter/in/1'],
    ['too many conditions', { or: Array.from({ length: 13 }, () => ({ path: '/a', equals: 1 })) }, '/filter/or'],
    ['too many looks', { not: { or: Array.from({ length: 7 }, () => ({ path: '/a', equals: 1 })) } }, '/filter'],
    ['too deep', deep, `/filter${'/not'.repeat(10)}`],
    ['too long', { path: '/a', equals: 'x'.repeat(1_025) }, '/filter/equals'],
    ['too large', { path: `/${'x'.repeat(9_000)}`, equals: 1 }, '/filter'],
    ['U+0000', { path: '/a', equals: '\0' }, '/filter/equals'],
    ['a lone surrogate', { path: '/\ud800', equals: 1 }, '/filter/path'],
  ])('%s', async (_, filter, path) => {
    const before = (await api.call('GET', `${endpoints}?limit=200`)).body.data.length
    const there = await api.call('PATCH', `${endpoints}/big`, { json: { filter } })
    const made = await register(filter)
    for (const answer of [there, made]) {
      expect(answer.status).toBe(422)
      expect(answer.body).toMatchObject({ code: 'invalid_request' })
      expect(answer.body.errors[0].path).toBe(path)
    }
    expect((await api.call('GET', `${endpoints}?limit=200`)).body.data).toHaveLength(before)
  })

  test('with all that is wrong beside it', async () => {
    const answer = await register({ and: [{ path: 'x', equals: {} }, 1] }, { timeout_ms: 1 })
    const places = answer.body.errors.map((each: { path: string }) => each.path).sort()
    expect(places).toEqual(['/filter/and/0/equals', '/filter/and/0/path', '/filter/and/1', '/timeout_ms'])
  })

  test.each([
    ['a key that is there twice', '{"path":"/a","equals":1,"equals":2}', 400],
    ['a key __proto__', '{"path":"/a","equals":1,"__proto__":{}}', 422],
    ['nesting past 500', `${'{"not":'.repeat(600)}1${'}'.repeat(600)}`, 400],
    ['a number past all bounds', '{"path":"/a","equals":1e999999999}', 422],
    ['digits without end', `{"path":"/a","equals":${'9'.repeat(5_000)}}`, 422],
  ])('%s', async (_, filter, status) => {
    expect((await inRaw('POST', endpoints, `{"url":"${url}","filter":${filter}}`)).status).toBe(status)
  })
})
