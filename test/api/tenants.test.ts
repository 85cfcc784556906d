import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('a tenant is created, replaced whole, and read', async () => {
  const made = await api.call('PUT', '/v1/tenants/acme', { json: { name: 'Acme', metadata: { plan: 'pro' } } })
  expect(made.status).toBe(201)
  const acme = { id: 'acme', name: 'Acme', metadata: { plan: 'pro' }, created_at: time, updated_at: time }
  expect(made.body).toEqual(acme)
  expect(await api.call('GET', '/v1/tenants/acme')).toMatchObject({ status: 200, body: made.body })

  const changed = await api.call('PUT', '/v1/tenants/acme', { json: { metadata: null } })
  expect(changed.status).toBe(200)
  expect(changed.body).toEqual({ ...acme, name: null, metadata: {}, created_at: made.body.created_at })
  expect(changed.body.updated_at >= made.body.updated_at).toBe(true)
})

test('an unknown or malformed tenant is not found', async () => {
  for (const id of ['nobody', 'a%20b', '.x', 'posthorn', 'x'.repeat(129)]) {
    expect(await api.call('GET', `/v1/tenants/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  }
})

test('a tenant with events and no row is made up', async () => {
  await api.pool.query(`select posthorn.publish('ghost', 'a.b', '{}')`)
  await api.pool.query(`delete from posthorn.tenant where id = 'ghost'`)
  expect(await api.call('GET', '/v1/tenants/ghost')).toMatchObject({ status: 200, body: { id: 'ghost' } })
})

test('names that no tenant may have are told', async () => {
  for (const id of ['posthorn', 'a%20b', '.x', 'x'.repeat(129), 'a%00b', 'caf%C3%A9', '%FF']) {
    expect(await api.call('PUT', `/v1/tenants/${id}`, { json: {} })).toMatchObject({
      status: 422,
      body: { code: 'invalid_request', errors: [{ path: '/tenant' }] },
    })
  }
})

test('metadata is kept as it was given', async () => {
  const metadata = { constructor: 'a', ' ': 'b', 'ключ/~': '\u2028 "quoted" 😀' }
  const made = await api.call('PUT', '/v1/tenants/meta', { json: { metadata } })
  expect(made.body.metadata).toEqual(metadata)
})
