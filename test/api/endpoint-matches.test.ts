import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

const tenant = '/v1/tenants/acme'
const endpoints = `${tenant}/endpoints`
const url = 'https://example.com/'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const ask = (uid: string, json: object) => api.call('POST', `${endpoints}/${uid}/matches`, { json })
const askRaw = (uid: string, raw: string) =>
  api.call('POST', `${endpoints}/${uid}/matches`, { raw, headers: { 'content-type': 'application/json' } })

async function register(uid: string, fields: object): Promise<string> {
  const made = await api.call('POST', endpoints, { json: { url, uid, ...fields } })
  if (made.status !== 201) throw new Error(made.text)
  return made.body.id
}

const reason = (code: string, at: string | null) => ({ code, at, path: null, found: null, message: expect.any(String) })

describe('a sample', () => {
  test('that would be owed has no reasons, and is not published', async () => {
    await register('plain', {})
    await register('filtered', {
      filter: { path: '/data/total', gte: 100 },
      event_types: ['invoice.*'],
      channels: ['eu'],
    })
    const owed = { data: [{ event_id: null, type: 'invoice.paid', matches: true, reasons: [] }] }
    expect(await ask('plain', { type: 'invoice.paid', payload: null })).toMatchObject({ status: 200, body: owed })
    const sample = { type: 'invoice.paid', payload: { data: { total: 100 } }, channels: ['us', 'eu'] }
    expect((await ask('filtered', sample)).body).toEqual(owed)
    expect((await api.call('GET', `${tenant}/events`)).body.data).toEqual([])
  })

  test('that would not is told all that speaks against it', async () => {
    await register('strict', {
      filter: { path: '/data/total', gte: 100 },
      event_types: ['invoice.*', 'user'],
      channels: ['eu'],
      status: 'disabled',
    })
    const { body } = await ask('strict', { type: 'order.paid', payload: { data: { total: 99.5 } } })
    expect(body.data).toEqual([
      {
        event_id: null,
        type: 'order.paid',
        matches: false,
        reasons: [
          { ...reason('status', '/status'), message: 'The endpoint is disabled.' },
          { ...reason('event_type', '/event_types'), message: 'The endpoint takes invoice.*, user.' },
          { ...reason('channels', '/channels'), message: "The event is in none of the endpoint's channels: eu." },
          {
            code: 'filter',
            message: '/data/total must be at least 100, and is 99.5.',
            at: '/filter/gte',
            path: '/data/total',
            found: '99.5',
          },
        ],
      },
    ])
  })

  test('is owed to a paused endpoint, where it waits', async () => {
    await register('paused', { status: 'paused' })
    expect((await ask('paused', { type: 'a', payload: 1 })).body.data[0].matches).toBe(true)
  })

  const both = {
    and: [
      { path: '/plan', in: ['pro', 'team'] },
      {
        or: [
          { path: '/items/0/id', prefix: 'sku_' },
          { path: '/vip', equals: true },
        ],
      },
      { not: { path: '/test', exists: true } },
      {
        not: {
          and: [
            { path: '/n', gt: 5, lte: 7 },
            { path: '/c', equals: null },
          ],
        },
      },
    ],
  }

  test.each<[string, string, [at: string, found: string | null, message: string][]]>([
    ['nothing wrong', '{"plan":"pro","vip":true}', []],
    [
      'an absent value',
      '{"vip":true}',
      [['/filter/and/0/in', null, '/plan must be one of "pro", "team", and is not there.']],
    ],
    [
      'both ways of an or',
      '{"plan":"pro","items":[{"id":"x1"}],"vip":"true"}',
      [
        ['/filter/and/1/or/0/prefix', '"x1"', '/items/0/id must begin with "sku_", and is "x1".'],
        ['/filter/and/1/or/1/equals', '"true"', '/vip must be true, and is "true".'],
      ],
    ],
    ['one way of an or', '{"plan":"pro","items":{"0":{"id":"sku_1"}}}', []],
    [
      'something that must not be there',
      '{"plan":"pro","vip":true,"test":{}}',
      [['/filter/and/2/not/exists', '{...}', '/test must not be there, and is {...}.']],
    ],
    [
      'a whole that must not hold',
      '{"plan":"pro","vip":true,"n":7.0,"c":null}',
      [
        ['/filter/and/3/not/and/0/gt', '7.0', '/n must not be more than 5, and is 7.0.'],
        ['/filter/and/3/not/and/0/lte', '7.0', '/n must not be at most 7, and is 7.0.'],
        ['/filter/and/3/not/and/1/equals', 'null', '/c must not be null, and is null.'],
      ],
    ],
    ['a part of a whole that must not hold', '{"plan":"pro","vip":true,"n":8,"c":null}', []],
    [
      'digits that a double would lose',
      '{"plan":7615917337495251231,"vip":true}',
      [['/filter/and/0/in', '7615917337495251231', '/plan must be one of "pro", "team", and is 7615917337495251231.']],
    ],
    [
      'the last of repeated keys',
      '{"plan":"pro","plan":"free","vip":true}',
      [['/filter/and/0/in', '"free"', '/plan must be one of "pro", "team", and is "free".']],
    ],
  ])('%s', async (_, payload, expected) => {
    if ((await api.call('GET', `${endpoints}/both`)).status === 404) await register('both', { filter: both })
    const { body } = await askRaw('both', `{"type":"a","payload":${payload}}`)
    const [match] = body.data
    expect(match.matches).toBe(expected.length === 0)
    expect(match.reasons.map(({ at, found, message }: Record<string, string>) => [at, found, message])).toEqual(
      expected,
    )
  })

  test('with what no filter can look at says so', async () => {
    await register('odd', { filter: { not: { path: '/a', exists: true } } })
    const { body } = await askRaw('odd', '{"type":"a","payload":{"n":1e200000}}')
    expect(body.data[0]).toMatchObject({ matches: false, reasons: [reason('payload', '/filter')] })
    const mended = await askRaw('odd', String.raw`{"type":"a","payload":{"a":"x\u0000\ud800"}}`)
    expect(mended.body.data[0].reasons).toMatchObject([{ path: '/a', found: '"x\ufffd\ufffd"' }])
  })

  test('long values and lists are cut', async () => {
    const names = Array.from({ length: 60 }, (_, n) => `name-${n}`)
    await register('long', { filter: { path: '/a', in: names }, event_types: names })
    const { body } = await ask('long', { type: 'other', payload: { a: 'x'.repeat(10_000) } })
    const [type, filter] = body.data[0].reasons
    expect(type.message).toMatch(/name-9 and 50 more\.$/)
    expect(filter.message).toMatch(/"name-9" and 50 more, and is "x{199}\.$/)
    expect(filter.found).toBe(`"${'x'.repeat(199)}`)
  })
})

describe('the last events', () => {
  test('are answered newest first, each with its own reasons, as they were published', async () => {
    const at = '/v1/tenants/last/endpoints'
    await api.call('POST', at, { json: { url, uid: 'other' } })
    await api.call('POST', at, { json: { url, uid: 'hook', filter: { path: '/n', gt: 1 }, channels: ['eu'] } })
    const ids: string[] = []
    for (const n of [1, 2, 3]) {
      const json = { type: 'a.b', payload: { n }, ...(n === 3 ? {} : { channels: ['eu'] }) }
      ids.push((await api.call('POST', '/v1/tenants/last/events', { json })).body.id)
    }
    await api.call('POST', '/v1/tenants/neighbour/events', { json: { type: 'a.b', payload: { n: 9 } } })
    const { body } = await api.call('POST', `${at}/hook/matches`, { json: { last: 100 } })
    expect(body.data).toMatchObject([
      { event_id: ids[2], matches: false, reasons: [{ code: 'channels' }] },
      { event_id: ids[1], matches: true, reasons: [] },
      { event_id: ids[0], matches: false, reasons: [{ code: 'filter', found: '1' }] },
    ])
    expect((await api.call('POST', `${at}/hook/matches`, { json: { last: 1 } })).body.data).toHaveLength(1)
    const owed = await api.call(
      'GET',
      `/v1/tenants/last/deliveries?endpoint_id=${(await api.call('GET', `${at}/hook`)).body.id}`,
    )
    expect(owed.body.data).toMatchObject([{ event_id: ids[1] }])

    // A test of one endpoint is no other's.
    const { rows } = await api.pool.query(
      `select posthorn.publish_test(e.id, 'last', 'posthorn.test', '{}') from posthorn.endpoint e where e.uid = 'hook' and e.tenant_id = 'last'`,
    )
    expect(rows).toHaveLength(1)
    const newest = async (uid: string) =>
      (await api.call('POST', `${at}/${uid}/matches`, { json: { last: 1 } })).body.data[0]
    expect(await newest('hook')).toMatchObject({ type: 'posthorn.test', matches: true })
    expect(await newest('other')).toMatchObject({ matches: false, reasons: [reason('test_event', null)] })
  })

  test('that are large together are as many as 16 MiB hold', { timeout: 60_000 }, async () => {
    const at = '/v1/tenants/large'
    await api.call('POST', `${at}/endpoints`, { json: { url, uid: 'hook', filter: { path: '/z', equals: 1 } } })
    const payload = { a: 'x'.repeat(1_000_000), z: 1 }
    for (const count of [10, 10]) {
      const events = Array.from({ length: count }, () => ({ type: 'a.b', payload }))
      expect((await api.call('POST', `${at}/events/batch`, { json: { events } })).status).toBe(202)
    }
    const { body } = await api.call('POST', `${at}/endpoints/hook/matches`, { json: { last: 100 } })
    expect(body.data.map((each: { matches: boolean }) => each.matches)).toEqual(Array.from({ length: 17 }, () => true))
  })

  test('of a tenant without any are none', async () => {
    await api.call('POST', '/v1/tenants/empty/endpoints', { json: { url, uid: 'hook' } })
    const { status, body } = await api.call('POST', '/v1/tenants/empty/endpoints/hook/matches', { json: { last: 5 } })
    expect({ status, body }).toEqual({ status: 200, body: { data: [] } })
  })
})

describe('a question is refused', () => {
  test.each<[string, object, string]>([
    ['nothing asked', {}, '/type'],
    ['no payload', { type: 'a' }, '/payload'],
    ['no type', { payload: 1 }, '/type'],
    ['a malformed type', { type: 'a b', payload: 1 }, '/type'],
    ['a malformed channel', { type: 'a', payload: 1, channels: ['x y'] }, '/channels/0'],
    ['both ways at once', { last: 1, type: 'a' }, '/type'],
    ['a payload beside last', { last: 1, payload: {} }, '/payload'],
    ['none of the last', { last: 0 }, '/last'],
    ['too many', { last: 101 }, '/last'],
    ['half an event', { last: 1.5 }, '/last'],
    ['an unknown field', { type: 'a', payload: 1, filter: {} }, '/filter'],
  ])('%s', async (_, json, path) => {
    if ((await api.call('GET', `${endpoints}/asked`)).status === 404) await register('asked', {})
    const answer = await ask('asked', json)
    expect(answer.status).toBe(422)
    expect(answer.body.errors.map((each: { path: string }) => each.path)).toContain(path)
  })

  test('for an endpoint that is not there, or is another tenant’s', async () => {
    await register('here', {})
    expect((await ask('nowhere', { last: 1 })).status).toBe(404)
    expect((await api.call('POST', '/v1/tenants/else/endpoints/here/matches', { json: { last: 1 } })).status).toBe(404)
    const json = { last: 1 }
    const stranger = await api.makeToken('tenant', 'else')
    expect((await api.call('POST', `${endpoints}/here/matches`, { json, token: stranger })).status).toBe(404)
    const publisher = await api.makeToken('publish', 'acme')
    expect((await api.call('POST', `${endpoints}/here/matches`, { json, token: publisher })).status).toBe(403)
  })
})
