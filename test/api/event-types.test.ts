import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const path = '/v1/event-types/invoice.paid'

const schema = {
  type: 'object',
  required: ['total', 'at'],
  properties: { total: { type: 'number' }, at: { type: 'string', format: 'date-time' }, a: { type: 'null' } },
}
const example = { total: 99.5, at: '2026-11-30T00:00:00Z' }

test('an event type is created, replaced whole, read and deleted', async () => {
  const json = { description: 'Paid', schema, examples: [example], archived: true }
  const made = await api.call('PUT', path, { json })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    name: 'invoice.paid',
    ...json,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  const read = await api.call('GET', path)
  expect(read).toMatchObject({ status: 200, body: made.body })
  // Readers see members in the order in which they were written.
  expect(read.text).toContain(JSON.stringify(schema))
  const changed = await api.call('PUT', path, { json: {} })
  expect(changed).toMatchObject({ status: 200, body: { description: '', schema: null, examples: [], archived: false } })
  expect(await api.call('DELETE', path)).toMatchObject({ status: 204, text: '' })
  for (const method of ['GET', 'DELETE']) expect((await api.call(method, path)).status).toBe(404)
})

test.each<[string, object, string]>([
  ['a schema that is none', { schema: { properties: { a: { type: 'objct' } } } }, '/schema/properties/a/type'],
  ['a schema that refers to the outside', { schema: { $ref: 'http://127.0.0.1/a.json' } }, '/schema/$ref'],
  ['a schema that is no object', { schema: true }, '/schema'],
  ['an example that does not match', { schema, examples: [example, { total: 1, at: 'noon' }] }, '/examples/1/at'],
  ['too many examples', { examples: Array(21).fill(1) }, '/examples'],
  ['examples that are too large', { examples: ['x'.repeat(70_000)] }, '/examples'],
])('%s is refused, and nothing is stored', async (_, json, pointer) => {
  const refused = await api.call('PUT', '/v1/event-types/refused', { json })
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_request', errors: [{ path: pointer }] } })
  expect((await api.call('GET', '/v1/event-types/refused')).status).toBe(404)
})

test.each(['invoice.*', '.a', 'a..b', 'a%00', `${'x'.repeat(129)}`, 'caf%C3%A9'])(
  'no type is called %s',
  async (name) => {
    const refused = await api.call('PUT', `/v1/event-types/${name}`, { json: {} })
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: '/name' }] } })
    const status = name === 'a%00' ? 422 : 404
    expect((await api.call('GET', `/v1/event-types/${name}`)).status).toBe(status)
  },
)
