import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
  await api.call('PUT', '/v1/tenants/acme', { json: {} })
})
afterAll(() => api.stop())

/** Sends bytes as they are, and reads to the connection's end. */
async function exchange(text: string): Promise<string> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(text)
  await within(closed, 10_000, () => `the connection stayed open after ${answer}`)
  return answer
}

test('an unknown route is a problem, with a token', async () => {
  for (const path of [
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/tenants/',
    '/V1/tenants',
    '/v1/tenants/acme/endpoints/',
    '/nothing',
    '/docs/../etc',
  ]) {
    const answer = await api.call('GET', path)
    expect(answer).toMatchObject({
      status: 404,
      body: { code: 'route_not_found', type: 'urn:posthorn:problem:route_not_found' },
    })
  }
  expect((await api.call('GET', '/v1/nothing', { token: null })).status).toBe(401)
})

test('another method is a 405 that names those there are', async () => {
  const refused = await api.call('POST', '/v1/tenants/acme')
  expect(refused).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } })
  expect(refused.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS, PUT')
  expect((await api.call('PATCH', '/v1/tenants/acme')).status).toBe(405)
  expect((await api.call('PUT', '/healthz', { token: null })).status).toBe(405)
})

test('OPTIONS names the methods without a token', async () => {
  const options = await api.call('OPTIONS', '/v1/tenants/acme/endpoints', { token: null })
  expect(options.status).toBe(204)
  expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS, POST')
  expect((await api.call('OPTIONS', '/v1/nothing', { token: null })).status).toBe(404)
})

test('HEAD answers as GET does, without the body', async () => {
  const head = await api.call('HEAD', '/v1/tenants/acme')
  expect(head).toMatchObject({ status: 200, text: '' })
  expect((await api.call('HEAD', '/v1/tenants/nobody')).status).toBe(404)
  expect((await api.call('HEAD', '/v1/tenants/acme', { token: null })).status).toBe(401)
})

test('a request that breaks off stores nothing, and the API lives', async () => {
  const head = `PUT /v1/tenants/broken HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorToken}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n`
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  socket.on('error', () => {})
  await new Promise<void>((resolve) => socket.write(`${head}{"name":`, () => resolve()))
  socket.destroy()
  expect((await api.call('GET', '/v1/tenants/broken')).status).toBe(404)
  expect((await api.call('GET', '/healthz')).status).toBe(200)
})

test('what is not HTTP is refused', async () => {
  expect(await exchange('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  expect(await exchange(`GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  )
})

test('every route that takes JSON refuses another type', async () => {
  type Operation = { requestBody?: { content: Record<string, unknown> } }
  const { body } = await api.call<{ paths: Record<string, Record<string, Operation>> }>('GET', '/openapi.json')
  let tried = 0
  for (const [path, operations] of Object.entries(body.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.requestBody === undefined) continue
      const at = path.replace(/\{[a-z_]+\}/g, 'acme')
      for (const type of ['text/plain', '']) {
        const raw = new TextEncoder().encode('{}')
        const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
        const answer = await api.call(method.toUpperCase(), at, { raw, headers })
        expect({ path, method, status: answer.status }).toEqual({ path, method, status: 415 })
      }
      tried++
    }
  }
  expect(tried).toBeGreaterThanOrEqual(6)
})

test('a stop does not wait for a connection that has asked for nothing', async () => {
  const stopping = await startApiUnderTest()
  const { hostname, port } = new URL(stopping.url)
  const silent = connect(Number(port), hostname)
  const halfway = connect(Number(port), hostname)
  const kept = connect(Number(port), hostname)
  try {
    await Promise.all([silent, halfway, kept].map((socket) => once(socket, 'connect')))
    halfway.write('GET /healthz HTTP/1.1\r\nhost: x\r\n')
    kept.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(kept, 'data')
    const closed = Promise.all([silent, halfway, kept].map((socket) => once(socket.resume(), 'close')))
    await within(stopping.stopApi(), 1_000, () => 'the API did not stop')
    await within(closed, 1_000, () => 'a connection was left open')
  } finally {
    for (const socket of [silent, halfway, kept]) socket.destroy()
    await stopping.stop()
  }
})

test('a stop lets what is under way end, and takes nothing new', async () => {
  const stopping = await startApiUnderTest()
  try {
    // A registration that waits for another transaction's tenant.
    const client = await stopping.pool.connect()
    await client.query('begin')
    await client.query(`insert into posthorn.tenant (id) values ('slow')`)
    const slow = stopping.call('POST', '/v1/tenants/slow/endpoints', { json: { url: 'https://example.com/' } })
    const waiting = `select count(*)::integer as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    while ((await stopping.pool.query(waiting)).rows[0].n === 0) await stopping.call('GET', '/healthz')

    const stopped = stopping.stopApi()
    expect(stopping.stopApi()).toBe(stopped)
    await expect(fetch(`${stopping.url}/healthz`).then((answer) => answer.status)).rejects.toThrow()
    await client.query('rollback')
    client.release()
    expect((await slow).status).toBe(201)
    await within(stopped, 2_000, () => 'the API did not stop')
  } finally {
    await stopping.stop()
  }
})
