import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

const requests: [method: string, path: string, json?: unknown][] = [
  ['GET', '/v1/tenants'],
  ['GET', '/v1/tenants/acme'],
  ['PUT', '/v1/tenants/acme', {}],
  ['POST', '/v1/tenants/acme/endpoints', { url: 'https://example.com/' }],
  ['GET', '/v1/tenants/acme/endpoints'],
  ['PATCH', '/v1/tenants/acme/endpoints/x', {}],
  ['GET', '/v1/tenants/acme/endpoints/x/secret'],
  ['PUT', '/v1/event-types/a.b', {}],
  ['GET', '/v1/event-types'],
  ['POST', '/v1/api-keys', { name: 'x', kind: 'operator' }],
]

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({ status: 503, body: { code: 'database_unavailable' } })
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(answer.text).not.toMatch(/postgres:|5432|ECONN|select |prisma/i)
}

async function expectAllUnavailable(api: ApiUnderTest, unknownToken: boolean): Promise<void> {
  for (const [method, path, json] of requests) {
    expectUnavailable(await api.call(method, path, json === undefined ? {} : { json }))
  }
  if (unknownToken) expectUnavailable(await api.call('GET', '/v1/tenants', { token: `phk_${'x'.repeat(43)}` }))
  expect((await api.call('GET', '/v1/tenants', { token: null })).status).toBe(401)
  expect((await api.call('GET', '/healthz')).status).toBe(200)
  expect(await api.call('GET', '/readyz')).toMatchObject({ status: 503, body: { status: 'not_ready' } })
}

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

test('a server that nobody listens for is a 503 on every route', async () => {
  const unreachable = await startApiUnderTest({ databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing' })
  try {
    await expectAllUnavailable(unreachable, true)
  } finally {
    await unreachable.stop()
  }
})

test('connections that are cut are replaced', async () => {
  expect((await api.call('GET', '/v1/tenants')).status).toBe(200)
  await api.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  for (let i = 0; i < 5; i++) {
    const { status } = await api.call('GET', '/v1/tenants')
    expect([200, 503]).toContain(status)
  }
  expect((await api.call('GET', '/v1/tenants')).status).toBe(200)
})

test('a statement past its time is a 503, and so is a lock that is held too long', async () => {
  await api.call('PUT', '/v1/tenants/locked', { json: {} })
  await api.pool.query(`alter database ${new URL(api.database.url).pathname.slice(1)} set lock_timeout = '200ms'`)
  await api.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  const client = await api.pool.connect()
  await client.query('begin')
  await client.query(`update posthorn.tenant set name = 'x' where id = 'locked'`)
  let answer = await api.call('PUT', '/v1/tenants/locked', { json: { name: 'y' } })
  if (answer.headers.get('retry-after') === null)
    answer = await api.call('PUT', '/v1/tenants/locked', { json: { name: 'y' } })
  expectUnavailable(answer)
  await client.query('rollback')
  client.release()
})

test('a database that goes away is a 503, and the process lives', async () => {
  await api.database.drop()
  await expectAllUnavailable(api, true)
})
