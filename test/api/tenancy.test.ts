import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

/*
 * Every route of the OpenAPI document, with every kind of key, against another tenant's resources. A route that is added
 * is tried by itself; one with a parameter or a body that this file does not know fails until it is told of it.
 */

type Operation = { method: string; path: string; id: string; open: boolean; body: boolean; query: string[] }
type Things = { tenant: string; endpoint: string; uid: string; event: string; job: string }

let api: ApiUnderTest
let operations: Operation[]
let own: Things
let others: Things
let before: string
const tokens: Record<string, string> = {}

beforeAll(async () => {
  api = await startApiUnderTest()
  own = await makeTenant('acme', 'own-hook')
  others = await makeTenant('other', 'their-hook')
  tokens['tenant'] = await api.makeToken('tenant', 'acme')
  tokens['publish'] = await api.makeToken('publish', 'acme')
  tokens['publish for any'] = await api.makeToken('publish')
  operations = await readOperations()
  before = await stored()
})
afterAll(() => api.stop())

/** A tenant with an endpoint, an event owed to it, and one that was canceled. */
async function makeTenant(tenant: string, uid: string): Promise<Things> {
  const at = `/v1/tenants/${tenant}`
  const endpoint = await api.call('POST', `${at}/endpoints`, {
    json: { url: `https://example.com/${tenant}-url`, uid, headers: { 'x-key': `${tenant}-header` } },
  })
  const [event, canceled] = await Promise.all(
    ['owed', 'canceled'].map((what) =>
      api.call('POST', `${at}/events`, { json: { type: 'a.b', payload: { [what]: `${tenant}-payload` } } }),
    ),
  )
  const ended = await api.call('POST', `${at}/events/${canceled!.body.id}/deliveries/${uid}/cancel`)
  expect(ended.status).toBe(200)
  const job = await api.call('POST', `${at}/endpoints/${uid}/recover`, { json: { since } })
  return { tenant, endpoint: endpoint.body.id, uid, event: event!.body.id, job: job.body.id }
}

async function readOperations(): Promise<Operation[]> {
  const { body } = await api.call('GET', '/openapi.json')
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
  return Object.entries<Record<string, any>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      id: operation.operationId,
      open: operation.security?.length === 0,
      body: operation.requestBody !== undefined,
      query: (operation.parameters ?? [])
        .filter((each: { in: string }) => each.in === 'query')
        .map((each: { name: string }) => each.name),
    })),
  )
}

const since = new Date(Date.now() - 3_600_000).toISOString()

/** Bodies that would be taken, were it the caller's own. `{}` for those not named. */
const bodies: Record<string, unknown> = {
  createEndpoint: { url: 'https://example.com/' },
  updateEndpoint: { status: 'paused' },
  rotateEndpointSecret: { grace_seconds: 0 },
  publishEvent: { type: 'a.b', payload: 1 },
  publishEventBatch: { events: [{ type: 'a.b', payload: 1 }] },
  recoverEndpoint: { since },
  matchEndpoint: { last: 1 },
  createApiKey: { name: 'x', kind: 'tenant', tenant_id: 'other' },
}

function pathOf(
  operation: Operation,
  tenant: string,
  { endpoint, event, job = others.job }: { endpoint: string; event: string; job?: string },
): string {
  const values: Record<string, string> = {
    tenant,
    endpoint,
    event,
    job,
    key: 'key_00000000000000000000000000',
    name: 'a.b',
  }
  return operation.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined)
      throw new Error(`${operation.id}: what is {${name}} of another tenant? Say it in this test`)
    return value
  })
}

function send(operation: Operation, path: string, token: string | null | undefined, query = ''): Promise<Answer> {
  const json = operation.body ? { json: bodies[operation.id] ?? {} } : {}
  return api.call(operation.method, path + query, { ...json, ...(token === undefined ? {} : { token }) })
}

const under = (path: string): boolean => path.startsWith('/v1/tenants/{tenant}')
const publishes = (operation: Operation): boolean => operation.id.startsWith('publishEvent')

/** All that is stored, but when keys were last used. */
async function stored(): Promise<string> {
  const { rows: tables } = await api.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'posthorn' and c.relkind in ('r', 'p') order by 1`,
  )
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await api.pool.query(
      `select coalesce(jsonb_agg(r order by r::text), '[]')::text as text
       from (select to_jsonb(t) - 'last_used_at' as r from posthorn."${name}" t) x`,
    )
    parts.push(`${name} ${rows[0].text}`)
  }
  return parts.join('\n')
}

async function expectUntouched(answer: Answer): Promise<void> {
  expect(await stored()).toBe(before)
  for (const word of ['other-', others.endpoint, others.uid, others.event, others.job])
    expect(answer.text).not.toContain(word)
}

/** Ids and uid of the other tenant's in each place where the path names something below the tenant. */
function foreignPaths(operation: Operation): string[] {
  const named = [...operation.path.matchAll(/\{(endpoint|event)\}/g)].map((match) => match[1])
  const paths: string[] = []
  if (named.includes('endpoint')) {
    paths.push(pathOf(operation, own.tenant, { endpoint: others.endpoint, event: own.event }))
    paths.push(pathOf(operation, own.tenant, { endpoint: others.uid, event: own.event }))
  }
  if (named.includes('event')) {
    paths.push(pathOf(operation, own.tenant, { endpoint: own.endpoint, event: others.event }))
    paths.push(pathOf(operation, own.tenant, { endpoint: others.endpoint, event: others.event }))
  }
  return paths
}

test('the document has what is to be walked', () => {
  expect(operations.length).toBeGreaterThan(30)
  expect(operations.filter((each) => under(each.path)).length).toBeGreaterThan(15)
  expect(operations.filter((each) => foreignPaths(each).length > 0).length).toBeGreaterThan(12)
})

test('no route but the open ones answers without a token, or to one that is none', async () => {
  const revoked = await api.makeToken('tenant', 'acme')
  const { body } = await api.call('GET', '/v1/api-keys?limit=1')
  await api.call('DELETE', `/v1/api-keys/${body.data[0].id}`)
  before = await stored()
  for (const operation of operations) {
    if (operation.open) continue
    for (const token of [null, 'phk_unknown', revoked]) {
      const answer = await send(operation, pathOf(operation, 'other', others), token)
      expect({ id: operation.id, status: answer.status }).toEqual({ id: operation.id, status: 401 })
      await expectUntouched(answer)
    }
  }
})

describe.each(['tenant', 'publish', 'publish for any'])('with a %s key', (kind) => {
  test("another tenant's path is not there, and nothing is done", async () => {
    for (const operation of operations.filter((each) => under(each.path))) {
      // One that may publish for any tenant does.
      if (kind === 'publish for any' && publishes(operation)) continue
      const answer = await send(operation, pathOf(operation, 'other', others), tokens[kind])
      const status = kind === 'tenant' || publishes(operation) ? 404 : 403
      expect({ id: operation.id, status: answer.status }).toEqual({ id: operation.id, status })
      await expectUntouched(answer)
      // In the same words as a tenant that is not there at all.
      const nobody = await send(operation, pathOf(operation, 'nobody', others), tokens[kind])
      expect(nobody.text).toBe(answer.text)
    }
  })

  test('what is the operator’s alone is refused', async () => {
    for (const operation of operations.filter((each) => !each.open && !under(each.path))) {
      const answer = await send(operation, pathOf(operation, 'other', others), tokens[kind])
      // A tenant sees its own jobs, and no other's.
      const status = kind === 'tenant' && operation.path === '/v1/jobs/{job}' ? 404 : 403
      expect({ id: operation.id, status: answer.status }).toEqual({ id: operation.id, status })
      await expectUntouched(answer)
    }
  })
})

describe.each(['tenant', 'operator'])('with a %s key, below its own tenant', (kind) => {
  test("another tenant's ids are not found, in the words of an unknown one", async () => {
    const unknown = { endpoint: 'ep_00000000000000000000000000', event: 'evt_00000000000000000000000000' }
    for (const operation of operations.filter((each) => under(each.path))) {
      for (const path of foreignPaths(operation)) {
        const answer = await send(operation, path, tokens[kind])
        expect({ id: operation.id, path, status: answer.status }).toEqual({ id: operation.id, path, status: 404 })
        await expectUntouched(answer)
        const nothing = await send(operation, pathOf(operation, own.tenant, unknown), tokens[kind])
        expect(JSON.parse(answer.text)).toEqual(JSON.parse(nothing.text))
      }
    }
  })

  test("lists hold nothing of another tenant's, whatever they are asked for", async () => {
    const lists = operations.filter((each) => each.method === 'GET' && under(each.path) && each.query.includes('limit'))
    expect(lists.length).toBeGreaterThanOrEqual(4)
    for (const operation of lists) {
      const path = pathOf(operation, own.tenant, own)
      const foreign = operation.query.includes('endpoint_id') ? [`?endpoint_id=${others.endpoint}`] : []
      for (const query of ['', '?limit=200', ...foreign]) {
        const answer = await send(operation, path, tokens[kind], query)
        expect({ path, query, status: answer.status }).toEqual({ path, query, status: 200 })
        await expectUntouched(answer)
        if (query.includes('endpoint_id')) expect(answer.body.data).toEqual([])
      }
      // A cursor of the other's list goes on in one's own.
      const theirs = await send(operation, pathOf(operation, 'other', others), undefined, '?limit=1')
      const cursor = theirs.body.next_cursor
      if (cursor !== null) {
        const answer = await send(operation, path, tokens[kind], `?cursor=${cursor}`)
        expect([200, 422]).toContain(answer.status)
        await expectUntouched(answer)
      }
    }
  })
})

test("how long a refusal takes does not tell whether another's thing is there", async () => {
  const token = tokens['tenant']!
  const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!
  for (const [there, missing] of [
    [`/v1/tenants/acme/endpoints/${others.endpoint}`, '/v1/tenants/acme/endpoints/ep_01jd0000000000000000000000'],
    [`/v1/tenants/acme/events/${others.event}`, `/v1/tenants/acme/events/${others.event.slice(0, -3)}zzz`],
    [`/v1/tenants/other/events/${others.event}`, `/v1/tenants/nobody/events/${others.event}`],
  ] as const) {
    const times: [number[], number[]] = [[], []]
    // In turn, so that whatever else the machine does falls on both alike.
    for (let turn = 0; turn < 300; turn++) {
      const which = turn % 2 === 0 ? 0 : 1
      const began = performance.now()
      expect((await api.call('GET', which === 0 ? there : missing, { token })).status).toBe(404)
      if (turn >= 20) times[which].push(performance.now() - began)
    }
    const [a, b] = [median(times[0]), median(times[1])]
    expect({ there, close: Math.abs(a - b) < Math.max(1, 0.4 * Math.min(a, b)), a, b }).toMatchObject({ close: true })
  }
})
