import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, headersOfAll, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
type Document = any

test('the contract is OpenAPI 3.1, with the schemas that validate', async () => {
  const { status, body } = await api.call<Document>('GET', '/openapi.json', { token: null })
  expect(status).toBe(200)
  expect(body.openapi).toBe('3.1.0')
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
  expect(body.components.schemas.Problem.properties.code.enum).toContain('idempotency_key_reused')
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

/** Generated clients name their methods by these. */
const operations = {
  putTenant: 'put /v1/tenants/{tenant}',
  getTenant: 'get /v1/tenants/{tenant}',
  listTenants: 'get /v1/tenants',
  deleteTenant: 'delete /v1/tenants/{tenant}',
  createEndpoint: 'post /v1/tenants/{tenant}/endpoints',
  listEndpoints: 'get /v1/tenants/{tenant}/endpoints',
  getEndpoint: 'get /v1/tenants/{tenant}/endpoints/{endpoint}',
  updateEndpoint: 'patch /v1/tenants/{tenant}/endpoints/{endpoint}',
  deleteEndpoint: 'delete /v1/tenants/{tenant}/endpoints/{endpoint}',
  getEndpointSecret: 'get /v1/tenants/{tenant}/endpoints/{endpoint}/secret',
  rotateEndpointSecret: 'post /v1/tenants/{tenant}/endpoints/{endpoint}/secret/rotate',
  matchEndpoint: 'post /v1/tenants/{tenant}/endpoints/{endpoint}/matches',
  testEndpoint: 'post /v1/tenants/{tenant}/endpoints/{endpoint}/test',
  getEndpointStats: 'get /v1/tenants/{tenant}/endpoints/{endpoint}/stats',
  publishEvent: 'post /v1/tenants/{tenant}/events',
  publishEventBatch: 'post /v1/tenants/{tenant}/events/batch',
  listEvents: 'get /v1/tenants/{tenant}/events',
  getEvent: 'get /v1/tenants/{tenant}/events/{event}',
  getEventPayload: 'get /v1/tenants/{tenant}/events/{event}/payload',
  listEventDeliveries: 'get /v1/tenants/{tenant}/events/{event}/deliveries',
  listDeliveries: 'get /v1/tenants/{tenant}/deliveries',
  getDelivery: 'get /v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}',
  listAttempts: 'get /v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/attempts',
  redeliverDelivery: 'post /v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/redeliver',
  cancelDelivery: 'post /v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/cancel',
  recoverEndpoint: 'post /v1/tenants/{tenant}/endpoints/{endpoint}/recover',
  putEventType: 'put /v1/event-types/{name}',
  getEventType: 'get /v1/event-types/{name}',
  deleteEventType: 'delete /v1/event-types/{name}',
  listEventTypes: 'get /v1/event-types',
  checkEventType: 'post /v1/event-types/{name}/check',
  getCatalogueOpenapi: 'get /v1/catalogue/openapi',
  getCatalogueAsyncapi: 'get /v1/catalogue/asyncapi',
  importCatalogue: 'post /v1/catalogue/import',
  getJob: 'get /v1/jobs/{job}',
  stopJob: 'delete /v1/jobs/{job}',
  createApiKey: 'post /v1/api-keys',
  listApiKeys: 'get /v1/api-keys',
  revokeApiKey: 'delete /v1/api-keys/{key}',
  getHealth: 'get /healthz',
  getReadiness: 'get /readyz',
  getOpenapi: 'get /openapi.json',
}

test('every operation has an id of its own, and none ever changes', async () => {
  const { body } = await api.call<Document>('GET', '/openapi.json')
  const found = Object.entries<Document>(body.paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, { operationId }]) => [operationId, `${method} ${path}`] as const),
  )
  for (const [id] of found) expect(id).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
  expect(Object.keys(Object.fromEntries(found))).toHaveLength(found.length)
  expect(Object.fromEntries(found)).toMatchObject(operations)
})

test('every operation stands in one group, and each group has its line', async () => {
  const { body } = await api.call<Document>('GET', '/openapi.json')
  const groups = body.tags.map(({ name }: Document) => name)
  expect(groups).toEqual([
    ...['Tenants', 'Endpoints', 'Events', 'Deliveries', 'Event types'],
    ...['Jobs', 'API keys', 'Health', 'Docs'],
  ])
  for (const { description } of body.tags) expect(description).toMatch(/^[^\n]{5,100}\.$/)
  const used = new Set<string>()
  for (const [path, methods] of Object.entries<Document>(body.paths)) {
    for (const [method, { tags }] of Object.entries<Document>(methods)) {
      expect(tags, `${method} ${path}`).toHaveLength(1)
      expect(groups, `${method} ${path}`).toContain(tags[0])
      used.add(tags[0])
    }
  }
  expect(used.size).toBe(groups.length)
})

test.for(['/', '/docs/'])('%s leads a browser to the page, with the headers of every answer', async (path) => {
  const redirect = await fetch(api.url + path, { redirect: 'manual' })
  expect(redirect.status).toBe(302)
  expect(Object.fromEntries(redirect.headers)).toMatchObject({
    location: '/docs',
    ...headersOfAll,
  })
  const page = await api.call('GET', path, { token: null })
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('<title>Posthorn API</title>') })
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
