import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const endpoints = '/v1/tenants/acme/endpoints'
const url = 'https://example.com/hooks?a=b'

const defaults = {
  id: expect.stringMatching(/^ep_[0-7][0-9a-z]{25}$/),
  uid: null,
  tenant_id: 'acme',
  url,
  description: '',
  event_types: null,
  channels: null,
  filter: null,
  status: 'enabled',
  disabled_reason: null,
  headers: {},
  max_in_flight: 20,
  rate_limit: null,
  timeout_ms: 15000,
  retry_schedule: null,
  ordering: 'none',
  signatures: ['v1'],
  metadata: {},
  created_at: expect.any(String),
  updated_at: expect.any(String),
}

const full = {
  uid: 'crm:1',
  url,
  description: 'The CRM',
  event_types: ['invoice.*', 'user'],
  channels: ['eu', 'a.b'],
  filter: null,
  status: 'paused',
  headers: { 'X-Api-Key': 'secret value', Authorization: 'Bearer caf\u00e9' },
  max_in_flight: 1000,
  rate_limit: null,
  timeout_ms: 1000,
  retry_schedule: [0, 604800],
  ordering: 'by_key',
  signatures: ['v1'],
  metadata: { plan: 'pro' },
}

test('an endpoint of a new tenant is registered with the defaults, and makes the tenant', async () => {
  const made = await api.call('POST', endpoints, { json: { url } })
  expect(made.status).toBe(201)
  expect(made.headers.get('cache-control')).toBe('no-store')
  const secretForm = /^whsec_[A-Za-z0-9+/]{32}$/
  expect(made.body).toEqual({ ...defaults, secret: expect.stringMatching(secretForm), public_key: null })
  expect(await api.call('GET', '/v1/tenants/acme')).toMatchObject({ status: 200, body: { name: null } })

  const { secret, public_key: _, ...endpoint } = made.body
  expect(await api.call('GET', `${endpoints}/${endpoint.id}`)).toMatchObject({ status: 200, body: endpoint })
  expect((await api.call('GET', `${endpoints}/${endpoint.id}/secret`)).body).toEqual({
    secrets: [{ signature: 'v1', secret, public_key: null, created_at: expect.any(String), expires_at: null }],
  })
})

test('every field is kept, its lane obeys, and secrets lie sealed', async () => {
  const secret = `whsec_${Buffer.alloc(64, 3).toString('base64')}`
  const made = await api.call('POST', endpoints, { json: { ...full, secret } })
  const masked = { ...full, headers: { 'X-Api-Key': '***', Authorization: '***' } }
  expect(made).toMatchObject({ status: 201, body: { ...defaults, ...masked, secret } })
  expect((await api.call('GET', `${endpoints}/crm:1`)).body).toEqual({ ...defaults, ...masked })
  expect((await api.call('GET', `${endpoints}?limit=1`)).body.data).toEqual([{ ...defaults, ...masked }])

  const { rows } = await api.pool.query(
    `select l.status, l.version, l.max_in_flight, l.timeout_ms, l.tenant_id, l.draining, e.headers_sealed, s.sealed,
       to_jsonb(e)::text || to_jsonb(s)::text as text
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id join posthorn.endpoint_secret s on s.endpoint_id = e.id
     where e.uid = 'crm:1'`,
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({
    status: 1,
    version: 1,
    max_in_flight: 1000,
    timeout_ms: 1000,
    tenant_id: 'acme',
    draining: false,
  })
  expect(api.vault.open(rows[0].sealed)).toBe(secret)
  expect(JSON.parse(api.vault.open(rows[0].headers_sealed))).toEqual(full.headers)
  for (const hidden of [secret, 'secret value']) expect(rows[0].text).not.toContain(hidden)
})

test('a patch replaces what it names whole, and null sets the default', async () => {
  const at = `${endpoints}/patched`
  await api.call('POST', endpoints, { json: { ...full, uid: 'patched' } })
  const before = (await api.call('GET', at)).body
  expect(await api.call('PATCH', at, { json: {} })).toMatchObject({
    status: 200,
    body: { ...before, updated_at: expect.any(String) },
  })

  const some = { metadata: { a: 'b' }, headers: { 'x-b': '' }, max_in_flight: 1, retry_schedule: [] }
  const changed = await api.call('PATCH', at, { json: some })
  expect(changed.body).toEqual({ ...before, ...some, headers: { 'x-b': '***' }, updated_at: expect.any(String) })

  const nulls = Object.fromEntries(
    Object.keys(full).flatMap((name) => (name === 'url' || name === 'uid' ? [] : [[name, null]])),
  )
  const reset = await api.call('PATCH', at, { json: nulls })
  expect(reset.body).toEqual({ ...defaults, id: before.id, uid: 'patched' })
  const { rows } = await api.pool.query(
    `select e.version as e, l.version as l, l.status, l.max_in_flight, l.timeout_ms, e.headers_sealed
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.uid = 'patched'`,
  )
  expect(rows).toEqual([{ e: 4, l: 4, status: 0, max_in_flight: 20, timeout_ms: 15000, headers_sealed: null }])

  expect((await api.call('PATCH', at, { json: { uid: null } })).body.uid).toBeNull()
  expect((await api.call('GET', at)).status).toBe(404)
})

test('a second endpoint with one uid is a conflict, in its tenant alone and until the first is gone', async () => {
  const json = { url, uid: 'twice' }
  const first = await api.call('POST', endpoints, { json })
  const taken = { status: 409, body: { code: 'uid_taken', errors: [{ path: '/uid' }] } }
  expect(await api.call('POST', endpoints, { json })).toMatchObject(taken)
  const second = await api.call('POST', endpoints, { json: { url } })
  expect(await api.call('PATCH', `${endpoints}/${second.body.id}`, { json: { uid: 'twice' } })).toMatchObject(taken)
  expect((await api.call('POST', '/v1/tenants/other/endpoints', { json })).status).toBe(201)
  expect((await api.call('DELETE', `${endpoints}/${first.body.id}`)).status).toBe(204)
  expect((await api.call('POST', endpoints, { json })).status).toBe(201)
})

test('ten registrations of one uid at once make one endpoint', async () => {
  const json = { url, uid: 'raced' }
  const tried = Array.from({ length: 10 }, () => api.call('POST', '/v1/tenants/racing/endpoints', { json }))
  const statuses = (await Promise.all(tried)).map((answer) => answer.status).sort()
  expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)])
  expect((await api.call('GET', '/v1/tenants/racing/endpoints')).body.data).toHaveLength(1)
})

test('a deleted endpoint is not found, and keeps its row for the history', async () => {
  const { id } = (await api.call('POST', endpoints, { json: { url, uid: 'gone' } })).body
  expect(await api.call('DELETE', `${endpoints}/gone`)).toMatchObject({ status: 204, text: '' })
  for (const name of [id, 'gone']) {
    for (const [method, rest] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/secret'],
      ['POST', '/secret/rotate'],
    ] as const) {
      const json = method === 'PATCH' || method === 'POST' ? { json: {} } : {}
      expect((await api.call(method, `${endpoints}/${name}${rest}`, json)).status).toBe(404)
    }
  }
  const { body } = await api.call('GET', endpoints)
  expect(body.data.map((item: { id: string }) => item.id)).not.toContain(id)
  const { rows } = await api.pool.query(
    `select l.status, l.draining, l.version from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.uid = 'gone'`,
  )
  expect(rows).toEqual([{ status: 3, draining: true, version: 2 }])
})

test.each([
  'ep_00000000000000000000000000',
  'ep_short',
  'ep_ZZZZZZZZZZZZZZZZZZZZZZZZZZ',
  'unknown',
  'a%20b',
  '%F0',
  'x'.repeat(200),
])('there is no endpoint %s', async (name) => {
  const { status } = await api.call('GET', `${endpoints}/${name}`)
  expect(status).toBe(name === '%F0' ? 422 : 404)
})
