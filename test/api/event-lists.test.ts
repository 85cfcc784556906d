import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
const endpoints: string[] = []
const base = '/v1/tenants/acme'

beforeAll(async () => {
  api = await startApiUnderTest()
  for (let i = 0; i < 3; i++) {
    const { body } = await api.call('POST', `${base}/endpoints`, {
      json: { url: 'http://127.0.0.1:1/', ...(i === 2 ? { event_types: ['even'] } : {}) },
    })
    endpoints.push(body.id)
  }
  const events = Array.from({ length: 30 }, (_, n) => ({ type: n % 2 ? 'odd' : 'even', payload: n }))
  expect((await api.call('POST', `${base}/events/batch`, { json: { events } })).status).toBe(202)
  // Others' events lie between.
  await api.call('POST', '/v1/tenants/other/events/batch', { json: { events } })
})
afterAll(() => api.stop())

type Item = Record<string, unknown>

async function walk(path: string, betweenPages: () => Promise<unknown> = async () => {}): Promise<Item[]> {
  const all: Item[] = []
  let cursor: string | null = null
  for (let page = 0; page < 200; page++) {
    const joint = path.includes('?') ? '&' : '?'
    const next: string = cursor === null ? path : `${path}${joint}cursor=${cursor}`
    const { status, body } = await api.call<{ data: Item[]; next_cursor: string | null }>('GET', next)
    expect(status).toBe(200)
    all.push(...body.data)
    cursor = body.next_cursor
    if (cursor === null) return all
    await betweenPages()
  }
  throw new Error('no end')
}

const key = (item: Item) => `${item['id'] ?? `${item['event_id']}/${item['endpoint_id']}`}`

describe.each([1, 2, 7, 200])('pages of %d', (limit) => {
  test.each([
    ['events', 30],
    ['events?type=odd', 15],
    ['events?type=none', 0],
    ['deliveries', 30 * 2 + 15],
    ['deliveries?event_type=even', 15 * 3],
    ['deliveries?state=pending', 30 * 2 + 15],
    ['deliveries?state=failed', 0],
  ])('%s: every one once, newest first', async (path, count) => {
    const all = await walk(`${base}/${path}${path.includes('?') ? '&' : '?'}limit=${limit}`)
    const keys = all.map(key)
    expect(keys).toHaveLength(count)
    expect(new Set(keys).size).toBe(count)
    expect(keys).toEqual([...keys].sort().reverse())
  })

  test('of one endpoint', async () => {
    const all = await walk(`${base}/deliveries?endpoint_id=${endpoints[2]}&limit=${limit}`)
    expect(all).toHaveLength(15)
    expect(new Set(all.map((item) => item['event_type']))).toEqual(new Set(['even']))
    const none = await walk(`${base}/deliveries?endpoint_id=${endpoints[2]}&event_type=odd&limit=${limit}`)
    expect(none).toEqual([])
  })
})

test('what ends or comes between two pages is not repeated, and nothing is skipped', async () => {
  const { body: first } = await api.call('POST', '/v1/tenants/moving/endpoints', {
    json: { url: 'http://127.0.0.1:1/' },
  })
  await api.call('POST', '/v1/tenants/moving/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
  const events = Array.from({ length: 10 }, () => ({ type: 'a', payload: 1 }))
  const { body } = await api.call('POST', '/v1/tenants/moving/events/batch', { json: { events } })
  const ids: string[] = body.data.map((event: Item) => event['id'])
  let turn = 0
  const seen = await walk('/v1/tenants/moving/deliveries?limit=3', async () => {
    await api.call('POST', '/v1/tenants/moving/events', { json: { type: 'new', payload: 1 } })
    const id = ids[turn++ % ids.length]
    await api.call('POST', `/v1/tenants/moving/events/${id}/deliveries/${first.id}/cancel`)
  })
  expect(seen.map(key)).toHaveLength(20)
  expect(new Set(seen.map((item) => item['event_id']))).toEqual(new Set(ids))
})

test('since is inclusive and until is exclusive, on the event’s created_at', async () => {
  const made: Item[] = []
  for (let n = 0; n < 3; n++) {
    const { body } = await api.call('POST', '/v1/tenants/times/events', { json: { type: 'a', payload: n } })
    made.push(body)
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
  const between = async (query: string) => {
    const { body } = await api.call('GET', `/v1/tenants/times/events?${query}`)
    return body.data.map((event: Item) => event['id'])
  }
  const [a, b, c] = made.map((event) => event['created_at'])
  const [one, two, three] = made.map((event) => event['id'])
  expect(await between(`since=${a}&until=${c}`)).toEqual([two, one])
  expect(await between(`since=${b}`)).toEqual([three, two])
  expect(await between(`until=${b}`)).toEqual([one])
  expect(await between('since=1970-01-01T00:00:00Z&until=9998-12-31T00:00:00Z')).toEqual([three, two, one])
  expect(await between(`since=${c}&until=${a}`)).toEqual([])
})

test('an event’s deliveries, and none', async () => {
  const { body } = await api.call('GET', `${base}/events?limit=1`)
  const path = `${base}/events/${body.data[0].id}/deliveries`
  const all = await walk(path)
  expect(all.map((item) => item['endpoint_id'])).toEqual(endpoints.slice(0, 2).sort().reverse())
  expect((await walk(`${path}?limit=1`)).map(key)).toEqual(all.map(key))
  const { body: lonely } = await api.call('POST', '/v1/tenants/lonely/events', { json: { type: 'a', payload: 1 } })
  expect(lonely.deliveries).toBe(0)
  expect(await walk(`/v1/tenants/lonely/events/${lonely.id}/deliveries`)).toEqual([])
  expect(await walk(`${path}?until=2000-01-01T00:00:00Z`)).toEqual([])
})

test('a filter that matches nothing among very many events ends in bounded steps', async () => {
  await api.pool.query(
    `insert into posthorn.event (id, tenant_id, type, deliveries, payload)
     select posthorn.uuid_v7(now() - n * interval '1 millisecond'), 'many', 'common', 0, '1' from generate_series(1, 12000) n`,
  )
  for (const path of ['events?type=rare', 'deliveries?state=failed', `deliveries?endpoint_id=${endpoints[0]}`]) {
    let pages = 0
    const all = await walk(`/v1/tenants/many/${path}`, async () => {
      pages++
    })
    expect(all).toEqual([])
    expect(pages).toBeGreaterThan(1)
    expect(pages).toBeLessThan(5)
  }
  expect(await walk('/v1/tenants/many/events?limit=200&type=common')).toHaveLength(12_000)
})

test.each([
  ['events?limit=0', '/limit'],
  ['events?limit=201', '/limit'],
  ['events?limit=x', '/limit'],
  ['events?cursor=x', '/cursor'],
  ['events?cursor=', '/cursor'],
  ['events?since=yesterday', '/since'],
  ['events?until=2026-02-30T00:00:00Z', '/until'],
  ['events?type=a%00', '/type'],
  ['events?type=a..b', '/type'],
  ['events?kind=x', '/kind'],
  ['deliveries?endpoint_id=x', '/endpoint_id'],
  ['deliveries?endpoint_id=evt_01h455vb4pex5vsknk084sn02q', '/endpoint_id'],
  ['deliveries?state=ready', '/state'],
  ['deliveries?event_type=%20', '/event_type'],
  ['deliveries?type=a', '/type'],
])('%s is a 422', async (path, pointer) => {
  expect(await api.call('GET', `${base}/${path}`)).toMatchObject({ status: 422, body: { errors: [{ path: pointer }] } })
})

test('a cursor is of its list alone', async () => {
  const { body } = await api.call('GET', `${base}/events?limit=1`)
  const deliveries = await api.call('GET', `${base}/deliveries?limit=1`)
  for (const [path, cursor] of [
    ['deliveries', body.next_cursor],
    ['events', deliveries.body.next_cursor],
    [`events/${body.data[0].id}/deliveries`, deliveries.body.next_cursor],
    ['events', Buffer.from('["events","x"]').toString('base64url')],
    ['events', Buffer.from('["events","00000000-0000-0000-0000-000000000000\\u0000"]').toString('base64url')],
  ]) {
    expect((await api.call('GET', `${base}/${path}?cursor=${cursor}`)).status).toBe(422)
  }
})
