import { decodeDoorbell, decodeId, doorbellChannel } from '@posthorn/core'
import { createClient } from '@posthorn/core/db'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const own = '/v1/tenants/posthorn'
const url = 'https://example.com/'

/** Published about Posthorn itself, oldest first. */
async function told() {
  const { rows } = await api.pool.query<{ type: string; payload: Buffer; deliveries: number }>(
    `select e.type, e.payload, e.deliveries from posthorn.event e where e.tenant_id = 'posthorn' order by e.id`,
  )
  return rows.map(({ type, payload, deliveries }) => ({ type, deliveries, body: JSON.parse(payload.toString()) }))
}

async function make(tenant: string, json: Record<string, unknown> = {}) {
  const made = await api.call('POST', `/v1/tenants/${tenant}/endpoints`, { json: { url, ...json } })
  expect(made.status).toBe(201)
  return made.body
}

const change = (tenant: string, endpoint: string, json: Record<string, unknown>) =>
  api.call('PATCH', `/v1/tenants/${tenant}/endpoints/${endpoint}`, { json })

test('without an endpoint for them no event is written', async () => {
  const { id } = await make('acme')
  expect((await change('acme', id, { status: 'disabled' })).status).toBe(200)
  expect((await change('acme', id, { status: 'enabled' })).status).toBe(200)
  expect(await told()).toEqual([])
})

describe('the reserved tenant', () => {
  test('has endpoints, which an operator manages as any other', async () => {
    const made = await make('posthorn', { uid: 'ops', event_types: ['endpoint.*'] })
    expect(made).toMatchObject({ tenant_id: 'posthorn', uid: 'ops', secret: expect.stringMatching(/^whsec_/) })
    const at = `${own}/endpoints/ops`
    expect((await api.call('GET', at)).body.id).toBe(made.id)
    expect((await api.call('GET', `${own}/endpoints`)).body.data).toHaveLength(1)
    expect((await api.call('PATCH', at, { json: { description: 'x' } })).body.description).toBe('x')
    expect((await api.call('GET', `${at}/secret`)).body.secrets).toHaveLength(1)
    expect((await api.call('POST', `${at}/secret/rotate`)).status).toBe(200)
    expect((await api.call('GET', `${at}/stats`)).status).toBe(200)
    expect((await api.call('GET', `${own}/events`)).body.data).toEqual([])
    expect((await api.call('GET', `${own}/deliveries`)).body.data).toEqual([])
    expect((await api.call('DELETE', at)).status).toBe(204)
    expect((await api.call('GET', at)).status).toBe(404)
  })

  test('takes no publish, no PUT and no keys of its own', async () => {
    for (const [method, path, json] of [
      ['POST', `${own}/events`, { type: 'endpoint.disabled', payload: 1 }],
      ['POST', `${own}/events/batch`, { events: [{ type: 'endpoint.disabled', payload: 1 }] }],
      ['PUT', own, {}],
    ] as const) {
      const answer = await api.call(method, path, { json })
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: '/tenant' }] } })
    }
    for (const kind of ['tenant', 'publish']) {
      const json = { name: 'x', kind, tenant_id: 'posthorn' }
      const answer = await api.call('POST', '/v1/api-keys', { json })
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: '/tenant_id' }] } })
    }
    await expect(api.pool.query(`select posthorn.publish('posthorn', 'endpoint.disabled', '1')`)).rejects.toThrow(
      /posthorn/,
    )
  })

  test('is nobody else’s: other keys find nothing there', async () => {
    const { id } = await make('posthorn')
    const tokens = [
      await api.makeToken('tenant', 'acme'),
      await api.makeToken('publish'),
      await api.makeToken('publish', 'acme'),
    ]
    for (const token of tokens) {
      for (const [method, path, json] of [
        ['POST', `${own}/endpoints`, { url }],
        ['GET', `${own}/endpoints`, undefined],
        ['GET', `${own}/endpoints/${id}`, undefined],
        ['GET', `${own}/endpoints/${id}/stats`, undefined],
        ['PATCH', `${own}/endpoints/${id}`, { url }],
        ['DELETE', `${own}/endpoints/${id}`, undefined],
        ['GET', `${own}/events`, undefined],
        ['GET', `${own}/deliveries`, undefined],
      ] as const) {
        const answer = await api.call(method, path, { token, ...(json === undefined ? {} : { json }) })
        expect([403, 404]).toContain(answer.status)
      }
    }
    expect((await api.call('DELETE', `${own}/endpoints/${id}`)).status).toBe(204)
  })
})

describe('with an endpoint for them', () => {
  let ops: string
  beforeAll(async () => {
    ops = (await make('posthorn')).id
  })
  beforeEach(() => api.pool.query(`delete from posthorn.event where tenant_id = 'posthorn'`))

  test('disabling and enabling are told, each once, and other changes are not', async () => {
    const { id } = await make('acme', { uid: 'told' })
    for (const json of [
      { status: 'paused' },
      { status: 'enabled' },
      { url: 'https://example.com/2' },
      { status: 'disabled' },
      { status: 'disabled' },
      { description: 'x' },
      { status: 'enabled' },
      { status: null },
    ]) {
      expect((await change('acme', 'told', json)).status).toBe(200)
    }
    const data = { tenant_id: 'acme', endpoint_id: id, uid: 'told', reason: 'by_request' }
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(await told()).toEqual(
      ['endpoint.disabled', 'endpoint.enabled'].map((type) => ({
        type,
        deliveries: 1,
        body: { type, timestamp, data },
      })),
    )
  })

  test('they are ordinary events: listed, owed, and read', async () => {
    const { id } = await make('acme')
    await change('acme', id, { status: 'disabled' })
    const [event] = (await api.call('GET', `${own}/events`)).body.data
    expect(event).toMatchObject({ tenant_id: 'posthorn', type: 'endpoint.disabled', deliveries: 1 })
    const { body } = await api.call('GET', `${own}/events/${event.id}/deliveries`)
    expect(body.data).toMatchObject([{ endpoint_id: ops, state: 'pending', event_type: 'endpoint.disabled' }])
    expect((await api.call('GET', `${own}/events/${event.id}`)).body.payload.data.uid).toBeNull()
  })

  test('deleting is not disabling, and one that is made disabled never was enabled', async () => {
    const { id } = await make('acme', { status: 'disabled' })
    expect((await api.call('DELETE', `/v1/tenants/acme/endpoints/${id}`)).status).toBe(204)
    expect(await told()).toEqual([])
  })

  test('they never tell of the reserved tenant’s own endpoints', async () => {
    const { id } = await make('posthorn', { event_types: ['nothing'] })
    for (const status of ['disabled', 'enabled']) expect((await change('posthorn', id, { status })).status).toBe(200)
    expect(await told()).toEqual([])
  })

  test('a change that is refused tells nothing', async () => {
    await make('acme', { uid: 'taken' })
    const { id } = await make('acme')
    expect((await change('acme', id, { status: 'disabled', uid: 'taken' })).status).toBe(409)
    expect(await told()).toEqual([])
    expect((await api.call('GET', `/v1/tenants/acme/endpoints/${id}`)).body.status).toBe('enabled')
  })

  test('the doorbell is rung for who is told', async () => {
    const { id } = await make('acme')
    const listener = createClient(api.database.url, 'test listener')
    await listener.connect()
    const rung = new Promise<string[]>((resolve) => {
      listener.on('notification', ({ payload }) => resolve(decodeDoorbell(payload ?? '')))
    })
    await listener.query(`listen ${doorbellChannel}`)
    await change('acme', id, { status: 'disabled' })
    expect(await within(rung, 5_000, () => 'the doorbell was not rung')).toEqual([decodeId('ep', ops)])
    await listener.end()
  })
})
