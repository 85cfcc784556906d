import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
  for (let i = 0; i < 7; i++) {
    const answers = await Promise.all([
      api.call('PUT', `/v1/tenants/t${i}`, { json: {} }),
      api.call('PUT', `/v1/event-types/type.${i}`, { json: {} }),
      api.call('POST', '/v1/tenants/acme/endpoints', { json: { url: 'https://example.com/', uid: `u${i}` } }),
      api.call('POST', '/v1/api-keys', { json: { name: `k${i}`, kind: 'publish' } }),
    ])
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201, 201])
  }
  // Ties in the time of creation must not lose or repeat a row.
  await api.pool.query(`update posthorn.tenant set created_at = '2026-01-01T00:00:00Z' where id <> 't6'`)
  await api.pool.query(`update posthorn.event_type set created_at = '2026-01-01T00:00:00Z' where name <> 'type.6'`)
})
afterAll(() => api.stop())

describe.each([
  { path: '/v1/tenants', key: 'id', newest: 't6', count: 8 },
  { path: '/v1/event-types', key: 'name', newest: 'type.6', count: 7 },
  { path: '/v1/tenants/acme/endpoints', key: 'uid', newest: 'u6', count: 7 },
  { path: '/v1/api-keys', key: 'name', newest: 'k6', count: 7 },
])('GET $path', ({ path, key, newest, count }) => {
  test('walks every row once, newest first, whatever is made meanwhile', async () => {
    const seen: string[] = []
    let query = '?limit=3'
    for (;;) {
      const { status, body } = await api.call('GET', path + query)
      expect(status).toBe(200)
      expect(Object.keys(body).sort()).toEqual(['data', 'next_cursor'])
      expect(body.data.length).toBeLessThanOrEqual(3)
      seen.push(...body.data.map((item: Record<string, string>) => item[key]))
      if (seen.length === 3) {
        await api.call('PUT', '/v1/tenants/later', { json: {} })
        await api.call('PUT', '/v1/event-types/later', { json: {} })
      }
      if (body.next_cursor === null) break
      query = `?limit=3&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    expect(seen[0]).toBe(newest)
    const before = seen.filter((name) => name !== 'later')
    expect(before.length).toBe(count)
    expect(new Set(before).size).toBe(count)
    await api.pool.query(`delete from posthorn.tenant where id = 'later'`)
    await api.pool.query(`delete from posthorn.event_type where name = 'later'`)
  })

  test('takes since (inclusive) and until (exclusive)', async () => {
    const first = (await api.call('GET', `${path}?limit=1`)).body.data[0]
    const at = encodeURIComponent(first.created_at)
    expect((await api.call('GET', `${path}?since=${at}&limit=1`)).body.data[0][key]).toBe(newest)
    const before = (await api.call('GET', `${path}?until=${at}`)).body.data
    expect(before.map((item: Record<string, string>) => item[key])).not.toContain(newest)
  })

  test.each([
    ['limit=0', '/limit'],
    ['limit=201', '/limit'],
    ['limit=', '/limit'],
    ['limit=1e1', '/limit'],
    ['limit=-1', '/limit'],
    ['limit=2&limit=3', '/limit'],
    ['cursor=', '/cursor'],
    ['cursor=abc', '/cursor'],
    ['cursor=%00', '/cursor'],
    ['cursor=%FF', '/cursor'],
    [`cursor=${'x'.repeat(5000)}`, '/cursor'],
    [`cursor=${Buffer.from('["events",null]').toString('base64url')}`, '/cursor'],
    ['since=yesterday', '/since'],
    ['until=2026-02-30T00:00:00Z', '/until'],
    ['until=2026-01-01', '/until'],
    ['colour=red', '/colour'],
  ])('refuses ?%s', async (query, at) => {
    const { status, body } = await api.call('GET', `${path}?${query}`)
    expect(status).toBe(422)
    expect(body.errors.map((error: { path: string }) => error.path)).toContain(at)
  })

  test('refuses a cursor that was made longer, and one of another list', async () => {
    const { body } = await api.call('GET', `${path}?limit=1`)
    const other = path === '/v1/tenants' ? '/v1/event-types' : '/v1/tenants'
    expect((await api.call('GET', `${path}?cursor=${body.next_cursor}A`)).status).toBe(422)
    expect((await api.call('GET', `${path}?cursor=${body.next_cursor}%3D`)).status).toBe(422)
    expect((await api.call('GET', `${other}?cursor=${body.next_cursor}`)).status).toBe(422)
  })
})

test('a tenant that is not there has no endpoints', async () => {
  expect(await api.call('GET', '/v1/tenants/nobody/endpoints')).toMatchObject({
    status: 200,
    body: { data: [], next_cursor: null },
  })
})
