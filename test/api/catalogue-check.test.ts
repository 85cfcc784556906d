import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const check = (name: string, json: object) => api.call('POST', `/v1/event-types/${name}/check`, { json })

async function publish(tenant: string, type: string, payloads: unknown[]): Promise<string[]> {
  const json = { events: payloads.map((payload) => ({ type, payload })) }
  const made = await api.call('POST', `/v1/tenants/${tenant}/events/batch`, { json })
  expect(made.status).toBe(202)
  return made.body.data.map(({ id }: { id: string }) => id)
}

test('the last events of a type, of all tenants, are held against a schema, and nothing changes', async () => {
  const first = await publish('one', 'order.made', [{ total: 1 }, { total: '2' }])
  await publish('one', 'order.sent', [{ total: 'not of the type' }])
  const second = await publish('two', 'order.made', [{ sum: 3 }, { total: 4 }])
  const schema = { type: 'object', required: ['total'], properties: { total: { type: 'number' } } }
  const found = await check('order.made', { schema })
  expect(found.status).toBe(200)
  expect(found.body).toEqual({
    checked: 4,
    failed: 2,
    complete: true,
    failures: [
      { event_id: second[0], tenant_id: 'two', errors: [{ path: '/payload/total', message: 'Required.' }] },
      { event_id: first[1], tenant_id: 'one', errors: [{ path: '/payload/total', message: 'Must be a number.' }] },
    ],
  })
  expect((await check('order.made', { schema, last: 1 })).body).toMatchObject({ checked: 1, failed: 0, complete: true })
  expect((await check('order.none', { schema })).body).toEqual({ checked: 0, failed: 0, complete: true, failures: [] })
  expect((await api.call('GET', '/v1/event-types/order.made')).status).toBe(404)
})

test('many and large events are read some at a time, and the failures that are shown are bounded', async () => {
  const large = 'x'.repeat(900_000)
  for (let n = 0; n < 12; n++) await publish('large', 'large.made', [{ large }])
  await publish('large', 'large.made', Array(200).fill({}))
  const found = await check('large.made', { schema: { required: ['large'] }, last: 1000 })
  expect(found.body).toMatchObject({ checked: 212, failed: 200, complete: true })
  expect(found.body.failures).toHaveLength(50)
})

test('what a deleted tenant has left is not looked at', async () => {
  await publish('gone', 'gone.made', [1, 2])
  await publish('stays', 'gone.made', [3])
  expect((await api.call('DELETE', '/v1/tenants/gone')).status).toBe(202)
  expect((await check('gone.made', { schema: { type: 'string' } })).body).toMatchObject({
    checked: 1,
    failures: [{ tenant_id: 'stays' }],
  })
})

test.each<[string, object, string]>([
  ['without a schema', {}, '/schema'],
  ['with one that is none', { schema: { type: 'objct' } }, '/schema/type'],
  ['for more than may be', { schema: {}, last: 1001 }, '/last'],
])('a check %s is refused', async (_, json, path) => {
  expect(await check('order.made', json)).toMatchObject({ status: 422, body: { errors: [{ path }] } })
})

test('it is the operator who may check, import and export', async () => {
  for (const kind of ['tenant', 'publish']) {
    const token = await api.makeToken(kind, 'one')
    for (const [method, path] of [
      ['POST', '/v1/event-types/order.made/check'],
      ['POST', '/v1/catalogue/import'],
      ['GET', '/v1/catalogue/openapi'],
      ['GET', '/v1/catalogue/asyncapi'],
    ] as const) {
      const json = method === 'POST' ? {} : undefined
      expect((await api.call(method, path, { token, json })).status, `${kind} ${path}`).toBe(403)
    }
  }
})
