import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
let strict: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
  // A second process on the same database, which takes only what is in the catalogue.
  strict = await startApiUnderTest({
    databaseUrl: api.database.url,
    env: { POSTHORN_STRICT_EVENT_TYPES: 'true' },
  })
})
afterAll(() => Promise.all([strict.stop(), api.stop()]))

const schema = {
  type: 'object',
  required: ['total'],
  properties: { total: { type: 'number', minimum: 0 }, currency: { enum: ['EUR', 'USD'] } },
  additionalProperties: false,
}

type Options = { key?: string; raw?: string; on?: ApiUnderTest }

function publish(type: string, payload: unknown, { key, raw, on = api }: Options = {}): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) }
  const body = raw ?? JSON.stringify({ type, payload })
  return on.call('POST', '/v1/tenants/acme/events', { raw: body, headers })
}

const put = (name: string, json: object, on = api) => on.call('PUT', `/v1/event-types/${name}`, { json })

async function countEvents(type: string): Promise<number> {
  const { rows } = await api.pool.query('select count(*)::integer as n from posthorn.event where type = $1', [type])
  return rows[0].n
}

test('a payload that its schema does not match is a 422 that names each field, and nothing is written', async () => {
  await put('invoice.paid', { schema })
  const refused = await publish('invoice.paid', { total: -1, currency: 'GBP', note: 'x' })
  expect(refused.status).toBe(422)
  expect(refused.body).toMatchObject({ code: 'schema_violation', title: 'Payload against its schema' })
  expect(refused.body['errors']).toEqual(
    expect.arrayContaining([
      { path: '/payload/total', message: 'Must be at least 0.' },
      { path: '/payload/currency', message: 'Must be "EUR" or "USD".' },
      { path: '/payload/note', message: 'May not be there.' },
    ]),
  )
  expect((await publish('invoice.paid', {})).body).toMatchObject({
    errors: [{ path: '/payload/total', message: 'Required.' }],
  })
  expect(await countEvents('invoice.paid')).toBe(0)
  expect((await publish('invoice.paid', { total: 1 })).status).toBe(202)
  expect((await publish('invoice.sent', { anything: 1 })).status).toBe(202)
  expect(await countEvents('invoice.paid')).toBe(1)
})

test('in a batch the pointer begins with the place of the event, and the whole batch is refused', async () => {
  await put('batch.checked', { schema })
  const events = [
    { type: 'batch.checked', payload: { total: 1 } },
    { type: 'batch.other', payload: { total: 'a' } },
    { type: 'batch.checked', payload: { total: 'a' } },
    { type: 'batch.checked', payload: 7 },
  ]
  const refused = await api.call('POST', '/v1/tenants/acme/events/batch', { json: { events } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'schema_violation' } })
  expect(refused.body.errors).toEqual([
    { path: '/events/2/payload/total', message: 'Must be a number.' },
    { path: '/events/3/payload', message: 'Must be an object.' },
  ])
  expect((await countEvents('batch.checked')) + (await countEvents('batch.other'))).toBe(0)
  const taken = await api.call('POST', '/v1/tenants/acme/events/batch', { json: { events: events.slice(0, 2) } })
  expect(taken.status).toBe(202)
})

test('a change of the catalogue holds for each publish after its answer', async () => {
  const loose = { schema: {} }
  for (let round = 0; round < 20; round++) {
    await put('changing', { schema })
    expect((await publish('changing', { total: 'a' })).status).toBe(422)
    await put('changing', round % 2 === 0 ? loose : {})
    expect((await publish('changing', { total: 'a' })).status).toBe(202)
    await put('changing', { schema: { const: round } })
    expect((await publish('changing', round)).status).toBe(202)
    expect((await publish('changing', round - 1)).status).toBe(422)
    await api.call('DELETE', '/v1/event-types/changing')
    expect((await publish('changing', { total: 'a' })).status).toBe(202)
  }
})

test('under a load of publishes as well', async () => {
  let done = false
  const load = Array.from({ length: 8 }, async () => {
    while (!done) await publish('busy', { total: 1 })
  })
  for (let round = 0; round < 10; round++) {
    await put('busy', { schema: { type: 'object', required: ['total'] } })
    const refused = await Promise.all(Array.from({ length: 8 }, () => publish('busy', {})))
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([422]))
    await put('busy', {})
    const taken = await Promise.all(Array.from({ length: 8 }, () => publish('busy', {})))
    expect(new Set(taken.map(({ status }) => status))).toEqual(new Set([202]))
  }
  done = true
  await Promise.all(load)
})

test('another process sees a change within a second, however it was made', async () => {
  const other = { on: strict }
  await put('elsewhere', { schema })
  await expect.poll(async () => (await publish('elsewhere', {}, other)).status, { timeout: 5_000 }).toBe(422)
  const began = performance.now()
  await api.pool.query(`update posthorn.event_type set schema = '{"required": ["id"]}' where name = 'elsewhere'`)
  await expect
    .poll(async () => (await publish('elsewhere', { id: 1 }, other)).status, { interval: 20, timeout: 5_000 })
    .toBe(202)
  // A second, and what a busy machine adds.
  expect(performance.now() - began).toBeLessThan(3_000)
})

test('a strict process takes only what is in the catalogue, and not archived; another takes all', async () => {
  await put('known', {})
  await put('retired', { archived: true })
  await expect.poll(async () => (await publish('known', 1, { on: strict })).status, { timeout: 5_000 }).toBe(202)
  const unknown = await publish('unknown', 1, { on: strict })
  expect(unknown).toMatchObject({ status: 422, body: { code: 'unknown_event_type' } })
  expect(unknown.body['errors']).toEqual([{ path: '/type', message: 'Is not in the catalogue.' }])
  const archived = await publish('retired', 1, { on: strict })
  expect(archived.body['errors']).toEqual([{ path: '/type', message: 'Is archived.' }])
  const json = {
    events: [
      { type: 'known', payload: 1 },
      { type: 'unknown', payload: 1 },
    ],
  }
  const batch = await strict.call('POST', '/v1/tenants/acme/events/batch', { json })
  expect(batch.body.errors).toEqual([{ path: '/events/1/type', message: 'Is not in the catalogue.' }])
  for (const type of ['unknown', 'retired']) expect((await publish(type, 1)).status).toBe(202)
})

test('a publish that is sent again gets its first answer, though the schema has changed since', async () => {
  await put('again', {})
  const first = await publish('again', { n: 1 }, { key: 'k1' })
  expect(first.status).toBe(202)
  await put('again', { schema })
  const again = await publish('again', { n: 1 }, { key: 'k1' })
  expect(again).toMatchObject({ status: 202, text: first.text })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await publish('again', { n: 2 }, { key: 'k1' })).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused' },
  })
  expect(await publish('again', { n: 2 }, { key: 'k2' })).toMatchObject({
    status: 422,
    body: { code: 'schema_violation' },
  })
  // What was refused has used no key.
  expect((await publish('again', { total: 2 }, { key: 'k2' })).status).toBe(202)
  expect(await countEvents('again')).toBe(2)
})

test('the bytes of a checked payload are kept as they came, large numbers too', async () => {
  await put('bytes', { schema: { properties: { n: { type: 'integer' } } } })
  const text = '{ "n": 12345678901234567890, "s": "\\u00e9",\n"n2":1.0e2 }'
  const made = await publish('bytes', null, { raw: `{"type":"bytes","payload":${text}}` })
  expect(made.status).toBe(202)
  const { text: kept } = await api.call('GET', `/v1/tenants/acme/events/${made.body['id']}/payload`)
  expect(kept).toBe(text)
})

test('a checked payload may not have a key twice: receivers differ in which they read', async () => {
  await put('twice', { schema })
  const raw = '{"type":"twice","payload":{"total":-1,"total":1}}'
  expect(await publish('twice', null, { raw })).toMatchObject({
    status: 400,
    body: { code: 'repeated_key', errors: [{ path: '/payload/total' }] },
  })
  expect((await publish('', null, { raw: raw.replace('twice', 'any') })).status).toBe(202)
})

test('a payload that costs too much to check is refused, and others are answered meanwhile', async () => {
  const both = { properties: { in: { $ref: '#/$defs/a' } } }
  const doubling = { $ref: '#/$defs/a', $defs: { a: { allOf: [both, both] } } }
  expect((await put('costly', { schema: doubling })).status).toBe(201)
  const deep = Array.from({ length: 200 }).reduce<object>((inner) => ({ in: inner }), {})
  const refused = await publish('costly', deep)
  expect(refused).toMatchObject({ status: 422, body: { code: 'schema_violation', errors: [{ path: '/payload' }] } })
  expect((await publish('costly', { in: { in: {} } })).status).toBe(202)
})
