import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
type Document = any

test('the contract is OpenAPI 3.1, with every route and the schemas that validate', async () => {
  const { status, body } = await api.call<Document>('GET', '/openapi.json', { token: null })
  expect(status).toBe(200)
  expect(body.openapi).toBe('3.1.0')
  for (const [path, methods] of [
    ['/v1/tenants', ['get']],
    ['/v1/tenants/{tenant}', ['get', 'put']],
    ['/v1/tenants/{tenant}/endpoints', ['get', 'post']],
    ['/v1/tenants/{tenant}/endpoints/{endpoint}', ['delete', 'get', 'patch']],
    ['/v1/tenants/{tenant}/endpoints/{endpoint}/secret', ['get']],
    ['/v1/tenants/{tenant}/endpoints/{endpoint}/secret/rotate', ['post']],
    ['/v1/tenants/{tenant}/endpoints/{endpoint}/stats', ['get']],
    ['/v1/event-types/{name}', ['delete', 'get', 'put']],
    ['/v1/api-keys', ['get', 'post']],
    ['/v1/api-keys/{key}', ['delete']],
    ['/healthz', ['get']],
    ['/readyz', ['get']],
  ] as const) {
    expect({ path, methods: Object.keys(body.paths[path] ?? {}).sort() }).toEqual({ path, methods })
  }
  const create = body.paths['/v1/tenants/{tenant}/endpoints'].post
  const input = create.requestBody.content['application/json'].schema
  expect(create.requestBody.required).toBe(true)
  expect(input.additionalProperties).toBe(false)
  expect(input.required).toEqual(['url'])
  expect(input.properties.max_in_flight).toMatchObject({ type: ['integer', 'null'], minimum: 1, maximum: 1000 })
  const limit = body.paths['/v1/tenants'].get.parameters.find((each: Document) => each.name === 'limit')
  expect(limit).toMatchObject({
    in: 'query',
    required: false,
    schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  })
  expect(body.components.schemas.Problem.properties.code.enum).toContain('not_supported_yet')
  expect(body.security).toEqual([{ token: [] }])
})

test('every parameter of a path is declared, and every reference resolves', async () => {
  const { body } = await api.call<Document>('GET', '/openapi.json')
  for (const [path, operations] of Object.entries<Document>(body.paths)) {
    const named = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]).sort()
    for (const operation of Object.values<Document>(operations)) {
      const declared = (operation.parameters ?? []).filter((each: Document) => each.in === 'path')
      expect(declared.map((each: Document) => each.name).sort()).toEqual(named)
      expect(declared.every((each: Document) => each.required)).toBe(true)
    }
  }
  for (const [, name] of JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    expect(body.components.schemas).toHaveProperty([name!])
  }
})

test('every operation has an id of its own, and none ever changes', async () => {
  const { body } = await api.call<Document>('GET', '/openapi.json')
  const ids = Object.values<Document>(body.paths).flatMap((operations) =>
    Object.values<Document>(operations).map((operation) => operation.operationId),
  )
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
  expect(new Set(ids).size).toBe(ids.length)
  // Generated clients name their methods by these.
  expect(ids).toEqual(
    expect.arrayContaining([
      ...['putTenant', 'getTenant', 'listTenants'],
      ...['createEndpoint', 'listEndpoints', 'getEndpoint', 'updateEndpoint', 'deleteEndpoint'],
      ...['getEndpointSecret', 'rotateEndpointSecret', 'testEndpoint', 'getEndpointStats'],
      ...['publishEvent', 'publishEventBatch', 'listEvents', 'getEvent', 'getEventPayload', 'listEventDeliveries'],
      ...['listDeliveries', 'getDelivery', 'listAttempts', 'redeliverDelivery', 'cancelDelivery'],
      ...['putEventType', 'getEventType', 'deleteEventType', 'listEventTypes'],
      ...['createApiKey', 'listApiKeys', 'revokeApiKey', 'getHealth', 'getReadiness', 'getOpenapi'],
    ]),
  )
})

test('the page loads nothing from elsewhere, and its policy forbids it', async () => {
  const page = await api.call('GET', '/docs', { token: null })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe|\*|https?:/)
  expect(page.text).not.toMatch(/https?:\/\//)
  expect(page.text).not.toMatch(/<script>|style=/)
  const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!)
  expect(loaded).toHaveLength(4)
  for (const path of loaded) {
    const { status, headers, text } = await api.call('GET', path, { token: null })
    expect({ path, status }).toEqual({ path, status: 200 })
    expect(headers.get('content-type')).toMatch(/^(text\/(css|javascript)|image\/png)/)
    expect(text.length).toBeGreaterThan(50)
  }
})
