import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/wait.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

test('a key is shown once, listed without its token, and revoked', async () => {
  const json = { name: 'ci', kind: 'tenant', tenant_id: 'acme', expires_at: '2100-01-01T00:00:00+02:00' }
  const made = await api.call('POST', '/v1/api-keys', { json })
  expect(made.status).toBe(201)
  const key = {
    id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
    name: 'ci',
    kind: 'tenant',
    tenant_id: 'acme',
    prefix: made.body.token.slice(0, 12),
    created_at: expect.any(String),
    last_used_at: null,
    expires_at: '2099-12-31T22:00:00.000Z',
    revoked_at: null,
  }
  expect(made.body).toEqual({ ...key, token: expect.stringMatching(/^phk_[\w-]{43}$/) })
  expect((await api.call('GET', '/v1/api-keys')).body.data).toEqual([key])

  const { token, id } = made.body
  expect((await api.call('GET', '/v1/tenants/acme/endpoints', { token })).status).toBe(200)
  expect((await api.call('DELETE', `/v1/api-keys/${id}`)).status).toBe(204)
  // At once, though it was just looked up and remembered.
  expect((await api.call('GET', '/v1/tenants/acme/endpoints', { token })).status).toBe(401)
  expect((await api.call('DELETE', `/v1/api-keys/${id}`)).status).toBe(404)
  expect((await api.call('GET', '/v1/api-keys')).body.data[0].revoked_at).toEqual(expect.any(String))
})

test('the token is kept nowhere', async () => {
  const token = await api.makeToken('operator')
  const { rows } = await api.pool.query('select to_jsonb(k)::text as text from posthorn.api_key k')
  for (const { text } of rows) {
    expect(text).not.toContain(token)
    expect(text).not.toContain(Buffer.from(token).toString('hex'))
  }
})

test('the last use is noted', async () => {
  const token = await api.makeToken('operator')
  await api.call('GET', '/v1/tenants', { token })
  const used = await eventually(
    async () => (await api.call('GET', '/v1/api-keys?limit=1')).body.data[0].last_used_at,
    5_000,
  )
  expect(Date.parse(used)).toBeGreaterThan(Date.now() - 60_000)
})

test('an expired key is refused', async () => {
  const token = await api.makeToken('operator')
  await api.pool.query(`update posthorn.api_key set expires_at = now() - interval '1 second'`)
  expect(await api.call('GET', '/v1/tenants', { token })).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
})

test.each([
  [{ kind: 'tenant', name: 'x' }, '/tenant_id'],
  [{ kind: 'operator', name: 'x', tenant_id: 'acme' }, '/tenant_id'],
  [{ kind: 'publish', name: 'x', tenant_id: 'posthorn' }, '/tenant_id'],
  [{ kind: 'root', name: 'x' }, '/kind'],
  [{ kind: 'operator' }, '/name'],
  [{ kind: 'operator', name: '' }, '/name'],
  [{ kind: 'operator', name: 'x', expires_at: '2001-01-01T00:00:00Z' }, '/expires_at'],
  [{ kind: 'operator', name: 'x', expires_at: '2100-01-01' }, '/expires_at'],
  [{ kind: 'operator', name: 'x', token: 'phk_mine' }, '/token'],
])('refuses %j', async (json, path) => {
  const { status, body } = await api.call('POST', '/v1/api-keys', { json })
  expect(status).toBe(422)
  expect(body.errors.map((error: { path: string }) => error.path)).toEqual([path])
})
