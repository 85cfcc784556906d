import { Posthorn, PosthornError } from '@posthorn/client'
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from '../api/api-under-test.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from './free-port.ts'
import { type Front, startFront } from './front.ts'

let api: ApiUnderTest
let front: Front
let posthorn: Posthorn

beforeAll(async () => {
  api = await startApiUnderTest()
  front = await startFront(api.url)
  posthorn = new Posthorn({ url: front.url, apiKey: operatorToken })
})
beforeEach(() => {
  front.requests.length = 0
  front.faults.length = 0
})
afterAll(async () => {
  await front?.close()
  await api?.stop()
})

const hook = { url: 'https://example.com/hooks' }

async function errorOf(work: Promise<unknown>): Promise<PosthornError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(PosthornError)
  return error as PosthornError
}

describe('what the API does', () => {
  test('tenants, endpoints, events, deliveries, types and keys, each by its method', async () => {
    expect(await posthorn.tenants.put('acme', { name: 'Acme' })).toMatchObject({ id: 'acme', name: 'Acme' })
    const endpoint = await posthorn.endpoints.create('acme', { ...hook, uid: 'main', event_types: ['invoice.*'] })
    expect(endpoint.secret).toMatch(/^whsec_/)
    expect(await posthorn.endpoints.get('acme', 'main')).toMatchObject({ id: endpoint.id, uid: 'main' })
    expect(await posthorn.endpoints.update('acme', 'main', { max_in_flight: 3 })).toMatchObject({ max_in_flight: 3 })
    expect((await posthorn.endpoints.secret('acme', 'main')).secrets).toHaveLength(1)
    expect((await posthorn.endpoints.rotateSecret('acme', 'main', { grace_seconds: 60 })).secrets).toHaveLength(2)
    const event = await posthorn.events.publish('acme', { type: 'invoice.paid', payload_json: '{"total": 99.50}' })
    expect(event).toMatchObject({ tenant_id: 'acme', type: 'invoice.paid', deliveries: 1, replayed: false })
    expectTypeOf(event.id).toEqualTypeOf<string>()
    expect(await posthorn.events.get('acme', event.id)).toMatchObject({ payload: { total: 99.5 } })
    expect(new TextDecoder().decode(await posthorn.events.payload('acme', event.id))).toBe('{"total": 99.50}')
    expect((await posthorn.events.deliveries('acme', event.id).page()).data).toHaveLength(1)
    expect((await posthorn.deliveries.list('acme', { state: 'pending' }).page()).data).toHaveLength(1)
    expect(await posthorn.deliveries.get('acme', event.id, 'main')).toMatchObject({ state: 'pending' })
    expect(await posthorn.deliveries.attempts('acme', event.id, 'main').page()).toEqual({ data: [], next_cursor: null })
    expect(await posthorn.deliveries.cancel('acme', event.id, 'main')).toMatchObject({ state: 'canceled' })
    expect(await posthorn.deliveries.redeliver('acme', event.id, 'main')).toMatchObject({ state: 'pending' })
    expect((await posthorn.endpoints.stats('acme', 'main')).backlog.pending).toBe(1)
    await posthorn.endpoints.delete('acme', 'main')
    expect(await errorOf(posthorn.endpoints.get('acme', 'main'))).toMatchObject({ code: 'not_found', status: 404 })
    expect(await posthorn.eventTypes.put('invoice.paid', { description: 'Paid' })).toMatchObject({
      name: 'invoice.paid',
    })
    expect(await posthorn.eventTypes.get('invoice.paid')).toMatchObject({ description: 'Paid' })
    expect((await posthorn.eventTypes.list().page()).data).toHaveLength(1)
    const schema = { type: 'object', required: ['sum'] }
    expect(await posthorn.eventTypes.check('invoice.paid', { schema })).toMatchObject({ checked: 1, failed: 1 })
    expect(await posthorn.catalogue.openapi({ title: 'Acme' })).toMatchObject({ info: { title: 'Acme' } })
    const catalogue = await posthorn.catalogue.asyncapi()
    expect(catalogue).toMatchObject({ asyncapi: '3.0.0' })
    const imported = await posthorn.catalogue.import(catalogue, { dry_run: 'true' })
    expect(imported.data).toEqual([{ name: 'invoice.paid', outcome: 'unchanged', errors: [] }])
    await posthorn.eventTypes.delete('invoice.paid')
    const key = await posthorn.apiKeys.create({ name: 'shop', kind: 'publish' })
    expect(key.token).toMatch(/^phk_/)
    expect((await posthorn.apiKeys.list().page()).data.map(({ id }) => id)).toEqual([key.id])
    await posthorn.apiKeys.revoke(key.id)
    expect(await posthorn.server.health()).toMatchObject({ status: 'ok' })
    expect(await posthorn.server.readiness()).toHaveProperty('reasons')
    expect(await posthorn.server.openapi()).toMatchObject({ openapi: '3.1.0' })
  })

  test('a list is walked to its end, page by page, and no further than it is read', async () => {
    const ids: string[] = []
    for (let n = 0; n < 7; n++) ids.unshift((await posthorn.endpoints.create('pages', hook)).id)
    front.requests.length = 0
    const seen: string[] = []
    for await (const endpoint of posthorn.endpoints.list('pages', { limit: 3 })) seen.push(endpoint.id)
    expect(seen).toEqual(ids)
    expect(front.requests).toHaveLength(3)
    for await (const endpoint of posthorn.endpoints.list('pages', { limit: 3 })) if (endpoint.id === ids[1]) break
    expect(front.requests).toHaveLength(4)
    const sizes: number[] = []
    const since = new Date(Date.now() - 60_000)
    for await (const page of posthorn.endpoints.list('pages', { limit: 5, since }).pages()) sizes.push(page.data.length)
    expect(sizes).toEqual([5, 2])
  })

  test('a name stays within its place of the path', async () => {
    const odd = 'a b/../c?d#e%2F é'
    expect(await errorOf(posthorn.endpoints.get('acme', odd))).toMatchObject({ code: 'not_found' })
    expect(front.requests[0]!.path).toBe(`/v1/tenants/acme/endpoints/${encodeURIComponent(odd)}`)
    for (const name of ['', '.', '..']) {
      expect(await errorOf(posthorn.endpoints.get('acme', name))).toMatchObject({
        code: 'invalid_argument',
        path: '/endpoint',
      })
    }
  })
})

describe('sent again', () => {
  const paid = { type: 'invoice.paid', payload: { id: 1042 } }

  test.each<[string, Front['faults']]>([
    ['503', [{ answer: 503, headers: { 'retry-after': '0' }, body: 'upstream' }]],
    ['429 and then 502', [{ answer: 429 }, { answer: 502 }]],
    ['a broken connection', ['broken connection']],
    ['a lost answer', ['lost answer']],
    ['two lost answers', ['lost answer', 'lost answer']],
  ])('a publish that meets %s is published once', async (what, faults) => {
    const tenant = what.replaceAll(' ', '-')
    front.faults.push(...faults)
    const event = await posthorn.events.publish(tenant, paid)
    expect(front.requests).toHaveLength(faults.length + 1)
    expect(new Set(front.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(new Set(front.requests.map(({ body }) => body))).toEqual(new Set([JSON.stringify(paid)]))
    expect((await posthorn.events.list(tenant).page()).data.map(({ id }) => id)).toEqual([event.id])
  })

  test('each call has a key of its own, and two clients with one key publish one event', async () => {
    const first = await posthorn.events.publish('keys', paid)
    expect((await posthorn.events.publish('keys', paid)).id).not.toBe(first.id)
    const other = new Posthorn({ url: api.url, apiKey: operatorToken })
    const key = { idempotencyKey: 'inv-1042-paid' }
    const events = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? other : posthorn).events.publish('keys', paid, key)),
    )
    expect(new Set(events.map(({ id }) => id)).size).toBe(1)
    expect(events.filter(({ replayed }) => !replayed)).toHaveLength(1)
    const batch = [paid, { ...paid, type: 'invoice.sent' }]
    const [one, again] = [
      await posthorn.events.publishBatch('keys', batch, { idempotencyKey: 'b' }),
      await other.events.publishBatch('keys', batch, { idempotencyKey: 'b' }),
    ]
    expect(again.map(({ id }) => id)).toEqual(one.map(({ id }) => id))
    expect(again.every(({ replayed }) => replayed)).toBe(true)
  })

  test('what cannot be done twice is not sent again after an answer that was lost, and is after a refusal', async () => {
    front.faults.push('lost answer')
    expect(await errorOf(posthorn.endpoints.create('twice', hook))).toMatchObject({ code: 'unreachable', status: null })
    expect(front.requests).toHaveLength(1)
    front.faults.push({ answer: 429, headers: { 'retry-after': '0' } })
    await posthorn.endpoints.create('twice', hook)
    expect((await posthorn.endpoints.list('twice').page()).data).toHaveLength(2)
  })

  test('a delete whose answer was lost is done', async () => {
    const { id } = await posthorn.endpoints.create('gone', hook)
    front.faults.push('lost answer')
    await posthorn.endpoints.delete('gone', id)
    expect(await errorOf(posthorn.endpoints.delete('gone', id))).toMatchObject({ code: 'not_found' })
  })

  test('Retry-After is waited for, unless it is too long', async () => {
    front.faults.push({ answer: 503, headers: { 'retry-after': '1' } })
    const startedAt = performance.now()
    await posthorn.tenants.get('acme')
    expect(performance.now() - startedAt).toBeGreaterThan(950)
    front.faults.push({ answer: 503, headers: { 'retry-after': '3600' } })
    expect(await errorOf(posthorn.tenants.get('acme'))).toMatchObject({ status: 503, retryAfterSeconds: 3600 })
  })

  test('no more often than asked', async () => {
    front.faults.push(...Array.from({ length: 9 }, () => ({ answer: 503, headers: { 'retry-after': '0' } })))
    await errorOf(posthorn.tenants.get('acme', { retries: 2 }))
    expect(front.requests).toHaveLength(3)
    await errorOf(posthorn.tenants.get('acme', { retries: 0 }))
    expect(front.requests).toHaveLength(4)
  })
})

describe('given up', () => {
  const seen = (count: number) => eventually(() => front.requests.length === count, 10_000)

  test('after the time-out, with an error of its own', async () => {
    front.faults.push('silence')
    const error = await errorOf(posthorn.tenants.get('acme', { timeoutMs: 100, retries: 0 }))
    expect(error).toMatchObject({ code: 'timed_out', message: expect.stringContaining('100 ms') })
  })

  test('by the signal, with its reason, also between two tries', async () => {
    front.faults.push('silence')
    const reason = new Error('the user went away')
    const abort = new AbortController()
    const call = posthorn.tenants.get('acme', { signal: abort.signal })
    await Promise.all([expect(call).rejects.toBe(reason), seen(1).then(() => abort.abort(reason))])
    front.faults.push({ answer: 503, headers: { 'retry-after': '30' } })
    const between = new AbortController()
    const waiting = posthorn.tenants.get('acme', { signal: between.signal })
    await Promise.all([expect(waiting).rejects.toBe(reason), seen(2).then(() => between.abort(reason))])
    await expect(posthorn.tenants.get('acme', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

describe('errors say what to do', () => {
  test('a wrong key', async () => {
    const apiKey = 'phk_not-the-one-that-is-right'
    const error = await errorOf(new Posthorn({ url: api.url, apiKey }).tenants.get('acme'))
    expect(error).toMatchObject({ code: 'unauthorized', status: 401, message: expect.stringContaining('apiKey') })
    expect(JSON.stringify({ ...error }) + error.stack).not.toContain(apiKey)
  })

  test('a key of the wrong kind', async () => {
    const apiKey = await api.makeToken('publish', 'acme')
    const error = await errorOf(new Posthorn({ url: api.url, apiKey }).tenants.get('acme'))
    expect(error).toMatchObject({ code: 'forbidden', status: 403, message: expect.stringContaining('operator key') })
  })

  test('what is not found, by the very path that was asked for', async () => {
    const error = await errorOf(posthorn.endpoints.get('acme', 'no/such one'))
    expect(error.message).toMatch(
      /^GET \/v1\/tenants\/acme\/endpoints\/no%2Fsuch%20one was refused \(404 not_found\): /,
    )
  })

  test('a server that is not there', async () => {
    const port = await freePort()
    const client = new Posthorn({ url: `http://127.0.0.1:${port}`, apiKey: operatorToken, retries: 1 })
    const error = await errorOf(client.events.publish('acme', { type: 'a', payload: 1 }))
    expect(error).toMatchObject({ code: 'unreachable', status: null })
    expect(error.message).toContain(`http://127.0.0.1:${port} cannot be reached (ECONNREFUSED). Is the API up there`)
    const name = new Posthorn({ url: 'http://posthorn.invalid', apiKey: operatorToken, retries: 0 })
    expect((await errorOf(name.tenants.get('acme'))).message).toMatch(
      /posthorn\.invalid cannot be reached \((ENOTFOUND|EAI_AGAIN)\)/,
    )
  })

  test('something else in its place', async () => {
    front.faults.push({ answer: 200, headers: { 'content-type': 'text/html' }, body: '<html>' })
    expect(await errorOf(posthorn.tenants.get('acme'))).toMatchObject({
      code: 'unexpected_answer',
      message: expect.stringContaining('text/html in place of JSON'),
    })
    front.faults.push({ answer: 404, body: 'nothing here' })
    expect((await errorOf(posthorn.tenants.get('acme'))).message).toContain('not by Posthorn')
    front.faults.push({ answer: 302, headers: { location: 'https://elsewhere.example/' } })
    expect((await errorOf(posthorn.tenants.get('acme'))).message).toContain('redirected to https://elsewhere.example/')
    expect(front.requests.filter(({ path }) => path.startsWith('/v1/tenants/acme'))).toHaveLength(3)
  })

  test('a field that is refused, with its place', async () => {
    const bad = [
      { type: 'ok', payload: 1 },
      { type: 'no spaces', payload: 1 },
    ]
    const error = await errorOf(posthorn.events.publishBatch('acme', bad))
    expect(error).toMatchObject({ code: 'invalid_request', status: 422, path: '/events/1/type' })
    expect(error.message).toContain('/events/1/type: ')
    expect(await errorOf(posthorn.endpoints.create('acme', { url: 'ftp://x' }))).toMatchObject({ path: '/url' })
  })

  test('a payload that is no JSON, before anything is sent', async () => {
    for (const [event, path] of [
      [{ type: 'a' }, '/payload'],
      [{ type: 'a', payload: () => 1 }, '/payload'],
      [{ type: 'a', payload: 1n }, '/payload'],
      [{ type: 'a', payload_json: '1,"channels":["all"]' }, '/payload_json'],
      [{ type: 'a', payload_json: '' }, '/payload_json'],
    ] as const) {
      expect(await errorOf(posthorn.events.publish('acme', event as never))).toMatchObject({
        code: 'invalid_argument',
        path,
      })
    }
    const nested = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000)) as unknown
    const error = await errorOf(posthorn.events.publish('acme', { type: 'a', payload: nested }))
    expect(['/payload', null]).toContain(error.path)
    expect(
      await errorOf(posthorn.events.publish('acme', { type: 'a', payload: 1 }, { idempotencyKey: 'é' })),
    ).toMatchObject({
      path: '/idempotencyKey',
    })
  })

  test.each([
    [{ url: 'posthorn:8080', apiKey: 'phk_x' }, '/url'],
    [{ url: 'nothing', apiKey: 'phk_x' }, '/url'],
    [{ url: 'http://user:pass@posthorn', apiKey: 'phk_x' }, '/url'],
    [{ url: 'http://posthorn/?a=1', apiKey: 'phk_x' }, '/url'],
    [{ url: 'http://posthorn', apiKey: '' }, '/apiKey'],
    [{ url: 'http://posthorn', apiKey: 'phk_secret\n' }, '/apiKey'],
    [{ url: 'http://posthorn', apiKey: undefined as never }, '/apiKey'],
  ])('settings that cannot be: %j', (options, path) => {
    expect(() => new Posthorn(options)).toThrow(expect.objectContaining({ code: 'invalid_argument', path }))
    expect(() => new Posthorn(options)).not.toThrow(/secret|pass@/)
  })

  test('an address with a path, or with /v1 at its end, is one', async () => {
    for (const url of [`${front.url}/`, `${front.url}/v1`, `${front.url}/v1/`]) {
      await new Posthorn({ url, apiKey: operatorToken }).tenants.list().page()
    }
    front.faults.push({ answer: 200, body: '{"data":[],"next_cursor":null}' })
    await new Posthorn({ url: `${front.url}/hooks/`, apiKey: operatorToken }).tenants.list().page()
    expect(front.requests.map(({ path }) => path)).toEqual([
      '/v1/tenants',
      '/v1/tenants',
      '/v1/tenants',
      '/hooks/v1/tenants',
    ])
  })
})
