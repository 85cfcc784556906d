import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const endpoints = '/v1/tenants/acme/endpoints'
const events = '/v1/tenants/acme/events'
const url = 'http://127.0.0.1:1/'

async function laneOf(id: string): Promise<{ ordering: number; reordering: boolean }> {
  const { rows } = await api.pool.query<{ ordering: number; reordering: boolean }>(
    'select ordering, reordering from posthorn.lane where endpoint_id = $1',
    [decodeId('ep', id)],
  )
  return rows[0]!
}

test('an endpoint is ordered from its registration, and a change is told to its lane', async () => {
  const made = await api.call('POST', endpoints, { json: { url, ordering: 'by_key' } })
  expect(made).toMatchObject({ status: 201, body: { ordering: 'by_key' } })
  const one = `${endpoints}/${made.body.id}`
  expect(await laneOf(made.body.id)).toEqual({ ordering: 2, reordering: false })
  // The same again, and other fields, change nothing of the order.
  for (const json of [{ ordering: 'by_key' }, { max_in_flight: 5 }]) {
    expect(await api.call('PATCH', one, { json })).toMatchObject({ status: 200, body: { ordering: 'by_key' } })
    expect(await laneOf(made.body.id)).toEqual({ ordering: 2, reordering: false })
  }
  const strict = await api.call('PATCH', one, { json: { ordering: 'strict' } })
  expect(strict).toMatchObject({ status: 200, body: { ordering: 'strict' } })
  expect(await laneOf(made.body.id)).toEqual({ ordering: 1, reordering: true })
  expect(await api.call('PATCH', one, { json: { ordering: null } })).toMatchObject({ body: { ordering: 'none' } })
  expect(await laneOf(made.body.id)).toEqual({ ordering: 0, reordering: true })
  expect(await api.call('GET', one)).toMatchObject({ body: { ordering: 'none' } })
})

test('an ordering key is taken as it is, and said again', async () => {
  for (const ordering_key of ['order-1042', ' ', 'é\n', '\u{1f600}'.repeat(128)]) {
    const made = await api.call('POST', events, { json: { type: 'a', payload: 1, ordering_key } })
    expect(made).toMatchObject({ status: 202, body: { ordering_key } })
    const read = await api.call('GET', `${events}/${(made.body as { id: string }).id}`)
    expect(read).toMatchObject({ status: 200, body: { ordering_key } })
  }
  const none = await api.call('POST', events, { json: { type: 'a', payload: 1, ordering_key: null } })
  expect(none).toMatchObject({ status: 202, body: { ordering_key: null } })
})

test('the ordering key belongs to what an idempotency key stands for', async () => {
  const headers = { 'idempotency-key': 'k' }
  const publish = (ordering_key: string | null) =>
    api.call('POST', events, { json: { type: 'a', payload: 1, ordering_key }, headers })
  const first = await publish('x')
  expect(first.status).toBe(202)
  expect(await publish('x')).toMatchObject({ status: 202, body: { id: first.body.id } })
  for (const other of ['y', null]) expect((await publish(other)).status).toBe(422)
})

test('deliveries carry the key, from HTTP and from SQL, and those of events without one carry none', async () => {
  await api.call('POST', '/v1/tenants/keyed/endpoints', { json: { url } })
  const publish = (json: object) =>
    api.call('POST', '/v1/tenants/keyed/events', { json: { type: 'a', payload: 1, ...json } })
  await publish({ ordering_key: 'x' })
  await publish({})
  await api.pool.query(`select posthorn.publish('keyed', 'a', '1', ordering_key => 'x')`)
  await api.pool.query(`select posthorn.publish('keyed', 'a', '1', ordering_key => 'y')`)
  const { rows } = await api.pool.query<{ key: string | null; of: string | null }>(
    `select e.ordering_key as key, d.order_key::text as of from posthorn.event e join posthorn.delivery d on d.event_id = e.id
     where e.tenant_id = 'keyed' order by d.ticket`,
  )
  expect(rows.map((row) => row.key)).toEqual(['x', null, 'x', 'y'])
  // The first eight bytes of the key's SHA-256: it is stored, and must be the same for ever.
  expect(rows.map((row) => row.of)).toEqual(['3274422879871479876', null, '3274422879871479876', expect.any(String)])
  expect(rows[3]!.of).not.toBe(rows[0]!.of)
})

test.each(['', 'x'.repeat(129)])('SQL refuses an ordering key of a wrong length', async (key) => {
  const publish = api.pool.query('select posthorn.publish($1, $2, $3, ordering_key => $4)', ['acme', 'a', '1', key])
  await expect(publish).rejects.toMatchObject({ code: 'PH007' })
})
