import { decodeDoorbell, doorbellChannel } from '@posthorn/core'
import { createClient } from '@posthorn/core/db'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const endpoints = '/v1/tenants/acme/endpoints'

async function make(uid: string): Promise<string> {
  const made = await api.call('POST', endpoints, { json: { url: 'https://example.com/', uid } })
  expect(made.status).toBe(201)
  return `${endpoints}/${uid}`
}

async function lane(uid: string) {
  const { rows } = await api.pool.query(
    `select e.id, l.status, l.draining, l.failures_in_a_row, l.breaker_trips, l.probing,
       l.blocked_until, l.failing_since, l.window_started_at, l.window_attempts, l.window_failures, l.ramp_cap, l.version = e.version as agree
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.uid = $1`,
    [uid],
  )
  return rows[0]
}

test('a pause reaches the lane in the same transaction', async () => {
  const at = await make('paused')
  expect((await api.call('PATCH', at, { json: { status: 'paused' } })).body).toMatchObject({
    status: 'paused',
    disabled_reason: null,
  })
  expect(await lane('paused')).toMatchObject({ status: 1, draining: false, agree: true })
})

test('a pause waits for a claim that holds the lane', async () => {
  const at = await make('claimed')
  const { id } = await lane('claimed')
  const claim = createClient(api.database.url, 'test claim')
  await claim.connect()
  await claim.query('begin')
  await claim.query('select from posthorn.lane where endpoint_id = $1 for no key update', [id])
  let answered = false
  const pause = api.call('PATCH', at, { json: { status: 'paused' } }).then((answer) => {
    answered = true
    return answer
  })
  await api.call('GET', at)
  await api.call('GET', at)
  expect(answered).toBe(false)
  await claim.query('commit')
  await claim.end()
  expect((await pause).status).toBe(200)
})

/** What a breaker leaves at a lane in trouble. */
const troubled = `failures_in_a_row = 9, breaker_trips = 3, probing = true, blocked_until = now() + interval '1 day',
  failing_since = now(), window_started_at = now(), window_attempts = 20, window_failures = 12, ramp_cap = 2`
const untroubled = {
  failures_in_a_row: 0,
  breaker_trips: 0,
  probing: false,
  blocked_until: null,
  failing_since: null,
  window_started_at: null,
  window_attempts: 0,
  window_failures: 0,
  ramp_cap: null,
}

test('the time of a pause does not count against an endpoint; its failures stay', async () => {
  const at = await make('rested')
  await api.pool.query(
    `update posthorn.lane l set failing_since = now() - interval '9 days', failures_in_a_row = 3 from posthorn.endpoint e
     where e.id = l.endpoint_id and e.uid = 'rested'`,
  )
  await api.call('PATCH', at, { json: { status: 'enabled' } })
  expect((await lane('rested')).failing_since).not.toBeNull()
  await api.call('PATCH', at, { json: { status: 'paused' } })
  await api.call('PATCH', at, { json: { status: 'enabled' } })
  expect(await lane('rested')).toMatchObject({ status: 0, failing_since: null, failures_in_a_row: 3 })
})

test('disabling has what is owed canceled; enabling starts afresh', async () => {
  const at = await make('disabled')
  expect((await api.call('PATCH', at, { json: { status: 'disabled' } })).body).toMatchObject({
    status: 'disabled',
    disabled_reason: 'by_request',
  })
  expect(await lane('disabled')).toMatchObject({ status: 2, draining: true })
  await api.pool.query(`update posthorn.lane set ${troubled}`)
  expect((await api.call('PATCH', at, { json: { status: 'enabled' } })).body).toMatchObject({
    status: 'enabled',
    disabled_reason: null,
  })
  expect(await lane('disabled')).toMatchObject({ status: 0, draining: false, ...untroubled, agree: true })
})

test('another URL begins without the failures of the old one; the same URL, or anything else, keeps them', async () => {
  const at = await make('moved')
  const { id } = await lane('moved')
  const trouble = () => api.pool.query(`update posthorn.lane set ${troubled} where endpoint_id = $1`, [id])
  await trouble()
  const kept = await lane('moved')
  for (const json of [{ url: 'https://example.com/' }, { description: 'x', max_in_flight: 3 }, { status: 'enabled' }]) {
    expect((await api.call('PATCH', at, { json })).status).toBe(200)
    const { status: _, ...now } = await lane('moved')
    const { status: __, ...before } = kept
    expect(now).toEqual(before)
  }
  expect((await api.call('PATCH', at, { json: { url: 'https://example.com/new' } })).status).toBe(200)
  expect(await lane('moved')).toMatchObject({ ...untroubled, status: 0, agree: true })
  const refused = await api.call('PATCH', at, { json: { url: 'http://10.0.0.1/' } })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: '/url' }] } })
})

test('what is published or redelivered to a blocked or paused lane is owed', async () => {
  const at = await make('waiting')
  const { id } = await lane('waiting')
  const publish = (type: string) => api.call('POST', '/v1/tenants/acme/events', { json: { type, payload: 1 } })
  const owed = async (event: string) =>
    (await api.call('GET', `/v1/tenants/acme/events/${event}/deliveries/waiting`)).body.state
  const again = async (event: string) =>
    (await api.call('POST', `/v1/tenants/acme/events/${event}/deliveries/waiting/redeliver`)).status
  for (const trouble of ['blocked', 'paused']) {
    if (trouble === 'blocked') await api.pool.query(`update posthorn.lane set ${troubled} where endpoint_id = $1`, [id])
    else await api.call('PATCH', at, { json: { status: 'paused', url: 'https://example.com/2' } })
    const event = (await publish(`a.${trouble}`)).body.id
    expect(await owed(event)).toBe('pending')
    expect((await api.call('POST', `/v1/tenants/acme/events/${event}/deliveries/waiting/cancel`)).status).toBe(200)
    expect(await owed(event)).toBe('canceled')
    expect(await again(event)).toBe(202)
    expect(await owed(event)).toBe('pending')
  }
})

test('why an endpoint was disabled is not lost when it is disabled again', async () => {
  const at = await make('reason')
  await api.pool.query(
    `update posthorn.endpoint set status = 'disabled', disabled_reason = 'gone' where uid = 'reason'`,
  )
  expect((await api.call('PATCH', at, { json: { status: 'disabled' } })).body.disabled_reason).toBe('gone')
})

test('resuming rings the doorbell, and a pause does not', async () => {
  const at = await make('bell')
  const { id } = await lane('bell')
  const listener = createClient(api.database.url, 'test listener')
  await listener.connect()
  const heard: string[][] = []
  const rung = new Promise<void>((resolve) => {
    listener.on('notification', ({ payload }) => {
      heard.push(decodeDoorbell(payload ?? ''))
      resolve()
    })
  })
  await listener.query(`listen ${doorbellChannel}`)
  await api.call('PATCH', at, { json: { status: 'paused' } })
  await api.call('PATCH', at, { json: { status: 'enabled' } })
  await within(rung, 5_000, () => 'the doorbell was not rung')
  expect(heard).toEqual([[id]])
  await listener.end()
})

test('twenty changes at once are all made, and endpoint and lane agree', async () => {
  const at = await make('busy')
  const changes = Array.from({ length: 20 }, (_, i) => api.call('PATCH', at, { json: { max_in_flight: i + 1 } }))
  for (const { status } of await Promise.all(changes)) expect(status).toBe(200)
  const { rows } = await api.pool.query(
    `select e.version, e.max_in_flight = l.max_in_flight and e.version = l.version as agree
     from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where e.uid = 'busy'`,
  )
  expect(rows).toEqual([{ version: 21, agree: true }])
})
