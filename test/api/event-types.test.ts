import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const path = '/v1/event-types/invoice.paid'

test('an event type is created, replaced whole, read and deleted', async () => {
  const made = await api.call('PUT', path, { json: { description: 'Paid', schema: null, archived: true } })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    name: 'invoice.paid',
    description: 'Paid',
    schema: null,
    archived: true,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect(await api.call('GET', path)).toMatchObject({ status: 200, body: made.body })
  const changed = await api.call('PUT', path, { json: {} })
  expect(changed).toMatchObject({ status: 200, body: { description: '', archived: false } })
  expect(await api.call('DELETE', path)).toMatchObject({ status: 204, text: '' })
  for (const method of ['GET', 'DELETE']) expect((await api.call(method, path)).status).toBe(404)
})

test('a schema is refused until it has an effect', async () => {
  const refused = await api.call('PUT', '/v1/event-types/with.schema', { json: { schema: { type: 'object' } } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'not_supported_yet', errors: [{ path: '/schema' }] } })
  expect((await api.call('GET', '/v1/event-types/with.schema')).status).toBe(404)
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
