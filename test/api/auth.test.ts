import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
let tenantToken: string
let publishToken: string
let anyPublishToken: string
let endpointId: string
beforeAll(async () => {
  api = await startApiUnderTest()
  tenantToken = await api.makeToken('tenant', 'acme')
  publishToken = await api.makeToken('publish', 'acme')
  anyPublishToken = await api.makeToken('publish')
  for (const tenant of ['acme', 'other']) {
    const json = { url: 'https://example.com/' }
    endpointId = (await api.call('POST', `/v1/tenants/${tenant}/endpoints`, { json })).body.id
  }
})
afterAll(() => api.stop())

test.each([
  ['none', {}],
  ['an empty one', { authorization: 'Bearer ' }],
  ['another scheme', { authorization: `Basic ${operatorToken}` }],
  ['an unknown token', { authorization: 'Bearer phk_unknown-to-everybody' }],
  ['what is too short for a token', { authorization: 'Bearer phk_short' }],
  ['what is too long for a token', { authorization: `Bearer phk_${'x'.repeat(252)}` }],
  ['part of a token', { authorization: `Bearer ${operatorToken.slice(0, -1)}` }],
  ['more than a token', { authorization: `Bearer ${operatorToken} x` }],
  ['bytes that no token has', { authorization: 'Bearer caf\u00e9' }],
])('%s is a 401 with a challenge', async (_, headers) => {
  const answer = await api.call('GET', '/v1/tenants', { token: null, headers })
  expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized', errors: [] } })
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
})

test('the scheme is read in any letter case', async () => {
  const headers = { authorization: `bearer ${operatorToken}` }
  expect((await api.call('GET', '/v1/tenants', { token: null, headers })).status).toBe(200)
})

describe('a tenant key', () => {
  const call = (method: string, path: string, json?: unknown) =>
    api.call(method, path, { token: tenantToken, ...(json === undefined ? {} : { json }) })

  test('does what lies under its tenant', async () => {
    expect((await call('GET', '/v1/tenants/acme')).status).toBe(200)
    expect((await call('GET', '/v1/tenants/%61cme/endpoints')).status).toBe(200)
    expect((await call('POST', '/v1/tenants/acme/endpoints', { url: 'https://example.com/' })).status).toBe(201)
  })

  test.each(['other', 'nobody', '%6fther', 'acm%65x'])('finds nothing under %s', async (tenant) => {
    for (const rest of ['', '/endpoints', `/endpoints/${endpointId}`, `/endpoints/${endpointId}/secret`, '/nothing']) {
      expect(await call('GET', `/v1/tenants/${tenant}${rest}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    }
    expect((await call('PUT', `/v1/tenants/${tenant}`, {})).status).toBe(404)
  })

  test("does not find another tenant's endpoint under its own", async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await call(method, `/v1/tenants/acme/endpoints/${endpointId}`)).status).toBe(404)
    }
    expect((await call('PATCH', `/v1/tenants/acme/endpoints/${endpointId}`, { status: 'paused' })).status).toBe(404)
    expect((await call('POST', `/v1/tenants/acme/endpoints/${endpointId}/secret/rotate`, {})).status).toBe(404)
    expect((await api.call('GET', `/v1/tenants/other/endpoints/${endpointId}`)).body.status).toBe('enabled')
  })

  test.each([
    ['GET', '/v1/tenants'],
    ['GET', '/v1/event-types'],
    ['PUT', '/v1/event-types/a.b'],
    ['GET', '/v1/api-keys'],
    ['POST', '/v1/api-keys'],
    ['GET', '/v1/nothing'],
  ])('may not %s %s', async (method, path) => {
    expect(await call(method, path)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })
})

test('a publish key may do nothing else', async () => {
  for (const token of [publishToken, anyPublishToken]) {
    for (const [method, path] of [
      ['GET', '/v1/tenants/acme'],
      ['GET', '/v1/tenants/acme/endpoints'],
      ['GET', '/v1/tenants/acme/events'],
      ['GET', '/v1/api-keys'],
      ['POST', '/v1/tenants/acme/endpoints'],
      ['POST', '/v1/tenants/acme/events/batch/x'],
    ] as const) {
      expect((await api.call(method, path, { token })).status).toBe(403)
    }
  }
  const elsewhere = await api.call('POST', '/v1/tenants/other/events', { token: publishToken, json: {} })
  expect(elsewhere.status).toBe(404)
})
