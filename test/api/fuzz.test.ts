import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'
import { bodyTextOf, type Schema, schemaValue, segmentOf } from './openapi-arbitrary.ts'

/*
 * Every operation of the OpenAPI document, with what it says and with what it does not: never a 5xx, every refusal a problem
 * document, every success of a kind that the document names, and the process lives. So many requests of each operation, the same
 * each time; POSTHORN_TEST_FUZZ_SECONDS makes as many as come in that time, POSTHORN_TEST_FUZZ_SEED others.
 */
const requestsEach = 80
const budgetMs = Number(process.env['POSTHORN_TEST_FUZZ_SECONDS'] ?? 0) * 1_000
const seed = Number(process.env['POSTHORN_TEST_FUZZ_SEED'] ?? 20_261_129)

type Operation = { method: string; path: string; spec: Schema }

let api: ApiUnderTest
let document: Schema
let operations: Operation[]
let known: Record<string, string[]>

beforeAll(async () => {
  api = await startApiUnderTest({ env: { POSTHORN_REQUESTS_PER_SECOND: '0' } })
  document = (await api.call('GET', '/openapi.json')).body
  operations = Object.entries<Record<string, Schema>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, spec]) => ({ method: method.toUpperCase(), path, spec })),
  )
  // What is deleted first cannot be asked for any more, and with a tenant goes all that it has.
  const deletes = ({ method, spec }: Operation) =>
    Number(method === 'DELETE') + Number(spec.operationId === 'deleteTenant')
  operations.sort((a, b) => deletes(a) - deletes(b))
  const endpoints = '/v1/tenants/acme/endpoints'
  const json = { url: 'https://example.com/', uid: 'hook', headers: { 'x-a': 'b' } }
  const endpoint = await api.call('POST', endpoints, { json })
  const other = await api.call('POST', endpoints, { json: { url: 'https://example.com/', signatures: ['v1', 'v1a'] } })
  const events = await Promise.all(
    Array.from({ length: 5 }, () =>
      api.call('POST', '/v1/tenants/acme/events', { json: { type: 'a.b', payload: {} } }),
    ),
  )
  const since = new Date(Date.now() - 60_000).toISOString()
  const job = await api.call('POST', `${endpoints}/hook/recover`, { json: { since } })
  const key = await api.call('POST', '/v1/api-keys', { json: { name: 'fuzz', kind: 'publish' } })
  await api.call('PUT', '/v1/event-types/a.b', { json: {} })
  known = {
    tenant: ['acme', 'acme', 'other', 'posthorn'],
    endpoint: [endpoint.body.id, other.body.id, 'hook', 'ep_00000000000000000000000000'],
    event: [...events.map((each) => each.body.id), 'evt_00000000000000000000000000'],
    job: [job.body.id, 'job_00000000000000000000000000'],
    name: ['a.b', 'c'],
    key: [key.body.id, 'key_00000000000000000000000000'],
  }
})
afterAll(() => api?.stop())

type Request = {
  path: string
  query: Record<string, unknown>
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | undefined
}

function requestOf({ path, spec }: Operation): fc.Arbitrary<Request> {
  const parameters: Schema[] = spec.parameters ?? []
  const inPath = parameters.filter((each) => each.in === 'path')
  const segments = fc.record(
    Object.fromEntries(inPath.map(({ name, schema }) => [name, segmentOf(known[name] ?? ['x'], schema)])),
  )
  const inQuery = parameters.filter((each) => each.in === 'query')
  const asked = fc.record(
    Object.fromEntries(inQuery.map(({ name, schema }) => [name, schemaValue(document, schema)])),
    { requiredKeys: [] },
  )
  // Each third asks for nothing, and so gets through to where there is something.
  const query = fc.oneof({ arbitrary: asked, weight: 2 }, { arbitrary: fc.constant({}), weight: 1 })
  const inHeader = parameters.filter((each) => each.in === 'header')
  // What a client can send at all.
  const value = fc.stringMatching(/^[\x21-\x7e\xa0-\xff]{0,300}$/)
  const sent = fc.record(Object.fromEntries(inHeader.map(({ name }) => [name, value])), { requiredKeys: [] })
  const headers = fc.oneof({ arbitrary: sent, weight: 2 }, { arbitrary: fc.constant({}), weight: 1 })
  const content = spec.requestBody?.content?.['application/json']
  const body = content === undefined ? fc.constant(undefined) : bodyTextOf(schemaValue(document, content.schema))
  const type = fc.oneof(
    { arbitrary: fc.constant('application/json'), weight: 25 },
    { arbitrary: fc.constantFrom('text/plain', 'application/json; charset=utf-16', ''), weight: 1 },
  )
  return fc.record({ segments, query, headers, body, type }).map((parts) => ({
    path: path.replace(/\{([a-z_]+)\}/g, (_, name: string) => (parts.segments as Record<string, string>)[name]!),
    query: parts.query,
    headers: { ...parts.headers, ...(parts.body === undefined ? {} : { 'content-type': parts.type }) },
    body: parts.body,
  }))
}

/** Null when the answer waits for a dispatcher, of which there is none. */
async function send({ method, path, spec }: Operation, request: Request): Promise<Response | null> {
  const url = new URL(api.url + request.path)
  for (const [name, value] of Object.entries(request.query)) {
    url.searchParams.set(name, (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed())
  }
  const { 'content-type': type, ...more } = request.headers
  const headers = new Headers({ authorization: `Bearer ${operatorToken}` })
  for (const [name, value] of Object.entries(more)) headers.set(name, value)
  if (type) headers.set('content-type', type)
  const body = typeof request.body === 'string' ? new TextEncoder().encode(request.body.toWellFormed()) : request.body
  const waits = path.endsWith('/test')
  const signal = AbortSignal.timeout(waits ? 250 : 10_000)
  try {
    return await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) })
  } catch (error) {
    if (waits && (error as Error).name === 'TimeoutError') return null
    throw new Error(`${spec.operationId}: no answer`, { cause: error })
  }
}

const problemFields = ['code', 'detail', 'errors', 'status', 'title', 'type']

async function check(operation: Operation, request: Request): Promise<number> {
  const response = await send(operation, request)
  if (response === null) return 0
  const { status } = response
  const text = await response.text()
  const what = `${operation.spec.operationId} ${status} ${text.slice(0, 500)}`
  if (status >= 500) throw new Error(what)
  if (status >= 400) {
    expect(response.headers.get('content-type'), what).toBe('application/problem+json')
    const problem = JSON.parse(text)
    expect(Object.keys(problem).sort(), what).toEqual(problemFields)
    expect(problem.status).toBe(status)
    return status
  }
  // A path with dots in it may be that of another operation by the time it is sent.
  const same = !/\/(?:\.|%2e)/i.test(request.path)
  if (same) expect(Object.keys(operation.spec.responses), what).toContain(String(status))
  if (text !== '' && (response.headers.get('content-type') ?? '').includes('json')) JSON.parse(text)
  return status
}

test('no operation answers with a 5xx, whatever it is asked', { timeout: budgetMs + 180_000 }, async () => {
  const seen = new Map<string, Set<number>>()
  let requests = 0
  for (const operation of operations) {
    const statuses = new Set<number>()
    seen.set(operation.spec.operationId, statuses)
    const property = fc.asyncProperty(requestOf(operation), async (request) => {
      requests++
      statuses.add(await check(operation, request))
    })
    await fc.assert(property, {
      seed,
      ...(budgetMs > 0
        ? { numRuns: 1_000_000, interruptAfterTimeLimit: budgetMs / operations.length }
        : { numRuns: requestsEach }),
      markInterruptAsFailure: false,
      endOnFailure: true,
    })
  }
  expect((await api.call('GET', '/healthz')).status).toBe(200)
  // It got through to what the routes do, and not to their refusals alone.
  const succeeded = [...seen].filter(([, statuses]) => [...statuses].some((status) => status >= 200 && status < 300))
  const never = [...seen.keys()].filter((id) => !succeeded.some(([each]) => each === id))
  expect(never.filter((id) => id !== 'testEndpoint')).toEqual([])
  expect(requests).toBeGreaterThanOrEqual(operations.length * 10)
})
