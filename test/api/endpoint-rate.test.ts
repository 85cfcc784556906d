import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const endpoints = '/v1/tenants/acme/endpoints'

async function make(uid: string, json: Record<string, unknown> = {}) {
  const made = await api.call('POST', endpoints, { json: { url: 'https://example.com/', uid, ...json } })
  expect(made.status).toBe(201)
  return made.body
}

async function lane(uid: string) {
  const { rows } = await api.pool.query(
    `select l.rate_interval_us::integer as interval_us, l.rate_burst as burst, l.rate_next as next
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.uid = $1`,
    [uid],
  )
  return rows[0]
}

const unlimited = { interval_us: null, burst: null, next: null }

test.each([
  [1, 1, 1_000_000, 1],
  [10, 1, 100_000, 2],
  [1_000, 1, 1_000, 101],
  [10_000, 1, 100, 1_001],
  [1, 3_600, 3_600_000_000, 1],
  [10_000, 3_600, 360_000, 1],
])('%i in %i s reads back exactly, and is a token each %i us, %i at once', async (limit, per_seconds, us, burst) => {
  const uid = `rate-${limit}-${per_seconds}`
  const rate_limit = { limit, per_seconds }
  expect((await make(uid, { rate_limit })).rate_limit).toEqual(rate_limit)
  expect((await api.call('GET', `${endpoints}/${uid}`)).body.rate_limit).toEqual(rate_limit)
  const { rows } = await api.pool.query(
    `select l.rate_interval_us::text as us, l.rate_burst as burst from posthorn.endpoint e
     join posthorn.lane l on l.endpoint_id = e.id where e.uid = $1`,
    [uid],
  )
  expect(rows[0]).toEqual({ us: `${us}`, burst })
})

test('without one there is no limit, and null takes it away', async () => {
  expect((await make('free')).rate_limit).toBeNull()
  expect(await lane('free')).toEqual(unlimited)
  const at = `${endpoints}/free`
  const rate_limit = { limit: 10, per_seconds: 1 }
  expect((await api.call('PATCH', at, { json: { rate_limit } })).body.rate_limit).toEqual(rate_limit)
  expect(await lane('free')).toEqual({ interval_us: 100_000, burst: 2, next: null })
  expect((await api.call('PATCH', at, { json: { rate_limit: null } })).body.rate_limit).toBeNull()
  expect(await lane('free')).toEqual(unlimited)
})

test('its clock begins anew with another limit, and goes on with the same or another change', async () => {
  const rate_limit = { limit: 60, per_seconds: 60 }
  await make('clock', { rate_limit })
  const at = `${endpoints}/clock`
  await api.pool.query(`update posthorn.lane set rate_next = '2030-01-01' where rate_interval_us = 1000000`)
  const next = new Date('2030-01-01T00:00:00Z')
  for (const json of [{ rate_limit }, { description: 'x' }, { status: 'paused' }, { status: 'enabled' }]) {
    expect((await api.call('PATCH', at, { json })).body.rate_limit).toEqual(rate_limit)
    expect(await lane('clock')).toMatchObject({ interval_us: 1_000_000, next })
  }
  const other = { limit: 1, per_seconds: 1 }
  expect((await api.call('PATCH', at, { json: { rate_limit: other } })).body.rate_limit).toEqual(other)
  expect(await lane('clock')).toMatchObject({ interval_us: 1_000_000, next: null })
})
