import { randomUUID } from 'node:crypto'
import { decodeId, encodeId } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contents, finish, log } from '../sql/job-fixture.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
let endpoint: string
beforeAll(async () => {
  api = await startApiUnderTest()
  endpoint = await makeEndpoint('acme')
})
afterAll(() => api.stop())

const hourMs = 3_600_000
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString()
const since = ago(hourMs)
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

async function makeEndpoint(tenant: string, json: Record<string, unknown> = {}): Promise<string> {
  const made = await api.call('POST', `/v1/tenants/${tenant}/endpoints`, {
    json: { url: 'http://127.0.0.1:1/', ...json },
  })
  expect(made.status).toBe(201)
  return made.body.id
}

async function publish(tenant: string, count: number, type = 'a.b'): Promise<string[]> {
  const events = Array.from({ length: count }, (_, n) => ({ type, payload: n }))
  const { body } = await api.call('POST', `/v1/tenants/${tenant}/events/batch`, { json: { events } })
  return body.data.map((event: { id: string }) => event.id)
}

const recover = (tenant: string, named: string, json: unknown, token?: string) =>
  api.call('POST', `/v1/tenants/${tenant}/endpoints/${named}/recover`, {
    json,
    ...(token === undefined ? {} : { token }),
  })

const owed = async (named: string): Promise<string[]> => {
  const { rows } = await api.pool.query<{ id: string }>(
    `select posthorn.type_id('evt', event_id) as id from posthorn.delivery where endpoint_id = $1 order by ticket`,
    [decodeId('ep', named)],
  )
  return rows.map((row) => row.id)
}

describe('what is refused', () => {
  test.each([
    ['/since', {}],
    ['/since', { since: null }],
    ['/since', { since: '2026-01-01' }],
    ['/since', { since: ago(41 * 24 * hourMs) }],
    ['/since', { since: ago(-hourMs) }],
    ['/until', { since, until: ago(2 * hourMs) }],
    ['/until', { since, until: since }],
    ['/until', { since, until: 'now' }],
    ['/states', { since, states: [] }],
    ['/states', { since, states: 'failed' }],
    ['/states/1', { since, states: ['failed', 'succeeded'] }],
    ['/states/0', { since, states: [null] }],
    ['/states', { since, states: ['failed', 'failed', 'failed', 'failed'] }],
    ['/dry_run', { since, dry_run: 'yes' }],
    ['/sinse', { since, sinse: since }],
  ])('a fault at %s, the one of case %#', async (path, json) => {
    for (const dry of [{}, { dry_run: true }]) {
      const answer = await recover('acme', endpoint, { ...dry, ...(json as object) })
      expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_request' } })
      expect(answer.body.errors[0].path).toBe(path)
    }
  })

  test('a range past retention says how far back it may reach', async () => {
    const { body } = await recover('acme', endpoint, { since: ago(41 * 24 * hourMs) })
    expect(body.errors[0].message).toMatch(/40 days/)
  })

  test('an unknown or malformed endpoint, and that of another tenant, is not found', async () => {
    const theirs = await makeEndpoint('other')
    for (const named of [encodeId('ep', randomUUID()), 'ep_x', 'nobody', theirs]) {
      for (const dry_run of [true, false]) {
        expect(await recover('acme', named, { since, dry_run })).toMatchObject({
          status: 404,
          body: { code: 'not_found' },
        })
      }
    }
  })

  test('a disabled and a deleted endpoint: 409 with the reason', async () => {
    const disabled = await makeEndpoint('acme', { status: 'disabled' })
    const deleted = await makeEndpoint('acme', { uid: 'gone' })
    expect((await api.call('DELETE', `/v1/tenants/acme/endpoints/${deleted}`)).status).toBe(204)
    for (const dry_run of [true, false]) {
      expect(await recover('acme', disabled, { since, dry_run })).toMatchObject({
        status: 409,
        body: { code: 'state_conflict', detail: expect.stringMatching(/disabled/) },
      })
      expect(await recover('acme', deleted, { since, dry_run })).toMatchObject({
        status: 409,
        body: { code: 'state_conflict', detail: expect.stringMatching(/deleted/) },
      })
      expect((await recover('acme', 'gone', { since, dry_run })).status).toBe(404)
    }
  })

  test('bodies that are no JSON object', async () => {
    for (const [raw, status] of [
      ['', 400],
      ['[]', 422],
      ['{"since": 1', 400],
    ] as const) {
      const answer = await api.call('POST', `/v1/tenants/acme/endpoints/${endpoint}/recover`, {
        raw,
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.status).toBe(status)
    }
  })
})

test('a dry run answers how many there are and writes nothing; the job that follows does as many, and shows it', async () => {
  const tenant = 'dry'
  const early = await makeEndpoint(tenant)
  const events = await publish(tenant, 5)
  await api.pool.query('delete from posthorn.delivery')
  const uuids = events.map((id) => decodeId('evt', id)!)
  await log(api.pool, decodeId('ep', early)!, uuids.slice(0, 2), {})
  await log(api.pool, decodeId('ep', early)!, uuids.slice(2, 3), { state: 6, outcome: 0 })
  const former = await contents(api.pool)
  const dry = await recover(tenant, early, { since, dry_run: true })
  expect(dry).toMatchObject({
    status: 200,
    body: { total: 5, failed: 2, canceled: 1, missed: 2, counted_until: null },
  })
  expect(await contents(api.pool)).toEqual(former)
  expect((await recover(tenant, early, { since, states: ['failed'], dry_run: true })).body.total).toBe(2)
  expect((await recover(tenant, early, { since, until: ago(60_000), dry_run: true })).body.total).toBe(0)

  const { status, body } = await recover(tenant, early, { since })
  expect(status).toBe(202)
  expect(body).toEqual({
    id: expect.stringMatching(/^job_/),
    tenant_id: tenant,
    endpoint_id: early,
    kind: 'recover',
    status: 'running',
    total: null,
    done: 0,
    error: null,
    created_at: time,
    ended_at: null,
  })
  await finish(api.pool, decodeId('job', body.id)!)
  expect(await api.call('GET', `/v1/jobs/${body.id}`)).toMatchObject({
    status: 200,
    body: { ...body, status: 'done', total: 5, done: 5, ended_at: time },
  })
  expect(await owed(early)).toEqual(events)
  expect((await api.call('GET', `/v1/tenants/${tenant}/events/${events[0]}/deliveries/${early}`)).body).toMatchObject({
    state: 'pending',
    reason: null,
    attempts: 1,
  })
})

test('an endpoint made later, or named by its uid, gets what it missed', async () => {
  const events = await publish('later', 3)
  const late = await makeEndpoint('later', { uid: 'mine', event_types: ['a.*'] })
  const { body } = await recover('later', 'mine', { since, states: ['missed'] })
  expect(body.endpoint_id).toBe(late)
  await finish(api.pool, decodeId('job', body.id)!)
  expect(await owed(late)).toEqual(events)
})

test('endpoints of the tenant posthorn recover what they were told', async () => {
  const operator = await makeEndpoint('posthorn', { status: 'paused' })
  const other = await makeEndpoint('told')
  await api.call('PATCH', `/v1/tenants/told/endpoints/${other}`, { json: { status: 'disabled' } })
  const told = await owed(operator)
  expect(told).toHaveLength(1)
  await api.call('POST', `/v1/tenants/posthorn/events/${told[0]}/deliveries/${operator}/cancel`)
  const { body } = await recover('posthorn', operator, { since })
  expect(await finish(api.pool, decodeId('job', body.id)!)).toMatchObject({ status: 'done', done: 1 })
  expect(await owed(operator)).toEqual(told)
})

describe('jobs', () => {
  const start = async (tenant = 'acme', named = endpoint): Promise<string> =>
    (await recover(tenant, named, { since })).body.id

  test('one that runs is stopped, once and for all; one that has ended otherwise is not', async () => {
    const id = await start()
    const stopped = await api.call('DELETE', `/v1/jobs/${id}`)
    expect(stopped).toMatchObject({ status: 200, body: { id, status: 'stopped', done: 0, ended_at: time } })
    expect((await api.call('GET', `/v1/jobs/${id}`)).body).toEqual(stopped.body)
    expect(await api.call('DELETE', `/v1/jobs/${id}`)).toMatchObject({ status: 200, body: stopped.body })
    const done = await start()
    await finish(api.pool, decodeId('job', done)!)
    expect(await api.call('DELETE', `/v1/jobs/${done}`)).toMatchObject({
      status: 409,
      body: { code: 'state_conflict', detail: expect.stringMatching(/done/) },
    })
  })

  test('an unknown or malformed id is not found', async () => {
    for (const method of ['GET', 'DELETE']) {
      for (const id of [encodeId('job', randomUUID()), 'job_x', endpoint, 'x', '%00']) {
        expect([404, 422]).toContain((await api.call(method, `/v1/jobs/${id}`)).status)
      }
      expect(await api.call(method, `/v1/jobs/${encodeId('job', randomUUID())}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    }
  })

  test('a tenant sees and stops its own alone, and a publish key none', async () => {
    const mine = await api.makeToken('tenant', 'acme')
    const theirs = await api.makeToken('tenant', 'other')
    const publishes = await api.makeToken('publish', 'acme')
    const { body } = await recover('acme', endpoint, { since }, mine)
    const path = `/v1/jobs/${body.id}`
    expect((await api.call('GET', path, { token: mine })).body).toEqual(body)
    for (const method of ['GET', 'DELETE']) {
      expect((await api.call(method, path, { token: theirs })).status).toBe(404)
      expect((await api.call(method, path, { token: publishes })).status).toBe(403)
      expect((await api.call(method, path, { token: null })).status).toBe(401)
    }
    expect((await recover('acme', endpoint, { since }, theirs)).status).toBe(404)
    expect((await recover('acme', endpoint, { since }, publishes)).status).toBe(403)
    expect(await api.call('DELETE', path, { token: mine })).toMatchObject({ status: 200, body: { status: 'stopped' } })
  })

  test('so many of one endpoint, and no more at once', async () => {
    const busy = await makeEndpoint('acme')
    for (let at = 0; at < 10; at++) await start('acme', busy)
    expect(await recover('acme', busy, { since })).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    expect((await recover('acme', endpoint, { since })).status).toBe(202)
  })
})
