import { decodeId } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const minute = 60_000
const at = (agoMs: number) => new Date(Date.now() - agoMs)

async function make(tenant: string): Promise<{ path: string; id: string }> {
  const made = await api.call('POST', `/v1/tenants/${tenant}/endpoints`, { json: { url: 'https://example.com/' } })
  expect(made.status).toBe(201)
  return { path: `/v1/tenants/${tenant}/endpoints/${made.body.id}/stats`, id: decodeId('ep', made.body.id)! }
}

type Attempt = { startedAgoMs: number; publishedAgoMs?: number; outcome?: number; ms?: number | null }

/** Logs an attempt, of an event of its own. */
async function log(tenant: string, endpointId: string, attempt: Attempt): Promise<void> {
  const { startedAgoMs, publishedAgoMs = startedAgoMs, outcome = 1, ms = 10 } = attempt
  await api.pool.query(
    `with e as (
       insert into posthorn.event (id, tenant_id, type, deliveries, payload)
       values (posthorn.uuid_v7(now() - $4 * interval '1 ms'), $1, 'a', 1, '1') returning id
     )
     insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at, duration_ms)
     select e.id, $2, gen_random_uuid(), 1, $5, 4, now() - $3 * interval '1 ms', now(), $6 from e`,
    [tenant, endpointId, startedAgoMs, publishedAgoMs, outcome, ms],
  )
}

/** Owes a delivery, in the state of a row that is given by its code. */
async function owe(endpointId: string, state: number, dueAgoMs: number): Promise<void> {
  await api.pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
     values (gen_random_uuid(), $1, nextval('posthorn.ticket'), now(), now() - $3 * interval '1 ms', $2)`,
    [endpointId, state, dueAgoMs],
  )
}

test('an endpoint that has done nothing', async () => {
  const { path } = await make('idle')
  const { status, body } = await api.call('GET', path)
  expect(status).toBe(200)
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(body).toEqual({
    since: time,
    until: time,
    attempts: 0,
    succeeded: 0,
    failed: 0,
    success_rate: null,
    latency_ms: null,
    backlog: { pending: 0, scheduled: 0, in_flight: 0 },
    oldest_due_at: null,
    lane: { blocked_until: null, failures_in_a_row: 0 },
  })
  expect(Date.parse(body.until) - Date.parse(body.since)).toBe(86_400_000)
  expect(Math.abs(Date.parse(body.until) - Date.now())).toBeLessThan(5_000)
})

describe('attempts', () => {
  test('are counted by outcome; ends without one, and what came back too late, are none', async () => {
    const { path, id } = await make('outcomes')
    for (let ms = 1; ms <= 96; ms++) await log('outcomes', id, { startedAgoMs: minute, ms })
    for (const ms of [5_000, 6_000, null]) await log('outcomes', id, { startedAgoMs: minute, outcome: 2, ms })
    await log('outcomes', id, { startedAgoMs: minute, outcome: 3, ms: null })
    await log('outcomes', id, { startedAgoMs: minute, outcome: 0, ms: null })
    await log('outcomes', id, { startedAgoMs: minute, outcome: 4, ms: 77_000 })
    expect((await api.call('GET', path)).body).toMatchObject({
      attempts: 100,
      succeeded: 96,
      failed: 3,
      success_rate: 0.96,
      latency_ms: { p50: 49, p95: 94, p99: 6_000 },
    })
  })

  test('are this endpoint’s alone', async () => {
    const [mine, other, foreign] = [await make('mine'), await make('mine'), await make('foreign')]
    await log('mine', mine.id, { startedAgoMs: minute })
    await log('mine', other.id, { startedAgoMs: minute })
    await log('foreign', foreign.id, { startedAgoMs: minute })
    expect((await api.call('GET', mine.path)).body.attempts).toBe(1)
    const token = await api.makeToken('tenant', 'foreign')
    expect((await api.call('GET', mine.path, { token })).status).toBe(404)
    expect((await api.call('GET', mine.path.replace('/mine/', '/foreign/'), { token })).status).toBe(404)
    expect((await api.call('GET', mine.path, { token: await api.makeToken('publish', 'mine') })).status).toBe(403)
  })

  test('count by when they began, since inclusive and until exclusive, whenever the event was published', async () => {
    const { path, id } = await make('times')
    const [since, until] = [at(10 * minute), at(5 * minute)]
    const ago = (time: Date, afterMs: number) => Date.now() - time.getTime() - afterMs
    const logAt = async (time: Date, publishedAgoMs: number, ms: number) => {
      await log('times', id, { startedAgoMs: 0, publishedAgoMs, ms })
      await api.pool.query('update posthorn.attempt set started_at = $1 where endpoint_id = $2 and duration_ms = $3', [
        time,
        id,
        ms,
      ])
    }
    await logAt(new Date(since.getTime() - 1), ago(since, 0), 1)
    await logAt(since, ago(since, 0), 2)
    await logAt(new Date(since.getTime() + 1_000), 15 * 60 * minute, 3)
    await logAt(new Date(until.getTime() - 1), ago(until, 20), 4)
    await logAt(until, ago(until, 10), 5)
    const query = `?since=${since.toISOString()}&until=${until.toISOString()}`
    const { body } = await api.call('GET', path + query)
    expect(body).toMatchObject({
      since: since.toISOString(),
      until: until.toISOString(),
      attempts: 3,
      latency_ms: { p50: 3, p95: 4, p99: 4 },
    })
    expect((await api.call('GET', path)).body.attempts).toBe(5)
  })
})

test('what is owed is counted by state, as it is now, and the oldest that is due', async () => {
  const { path, id } = await make('owed')
  for (const state of [0, 0, 0, 3, 2, 2, 1]) await owe(id, state, -60 * minute)
  const backlog = { pending: 4, scheduled: 2, in_flight: 1 }
  expect((await api.call('GET', path)).body).toMatchObject({ backlog, oldest_due_at: null })
  const oldest = async () => Date.now() - Date.parse((await api.call('GET', path)).body.oldest_due_at)
  await owe(id, 0, 3 * minute)
  expect(Math.abs((await oldest()) - 3 * minute)).toBeLessThan(5_000)
  // A later ticket with an earlier time, as a retry has it; held and leased rows are not due.
  await owe(id, 0, 5 * minute)
  await owe(id, 1, 50 * minute)
  await owe(id, 3, 50 * minute)
  expect(Math.abs((await oldest()) - 5 * minute)).toBeLessThan(5_000)
  await owe(id, 2, 7 * minute)
  expect(Math.abs((await oldest()) - 7 * minute)).toBeLessThan(5_000)
  expect((await api.call('GET', path)).body.backlog).toEqual({ pending: 7, scheduled: 3, in_flight: 2 })
})

test('a block is told until it has passed', async () => {
  const { path, id } = await make('blocked')
  const blockedUntil = new Date(Date.now() + minute)
  const set = 'update posthorn.lane set blocked_until = $2, failures_in_a_row = 12 where endpoint_id = $1'
  await api.pool.query(set, [id, blockedUntil])
  const lane = { blocked_until: blockedUntil.toISOString(), failures_in_a_row: 12 }
  expect((await api.call('GET', path)).body.lane).toEqual(lane)
  await api.pool.query(set, [id, at(1)])
  expect((await api.call('GET', path)).body.lane).toEqual({ ...lane, blocked_until: null })
})

describe('the time asked for', () => {
  test.each([
    ['since=yesterday', '/since'],
    ['until=1', '/until'],
    ['since=2026-02-30T00:00:00Z', '/since'],
    ['since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z', '/since'],
    ['since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z', '/since'],
    ['since=9990-01-01T00:00:00Z', '/since'],
    ['limit=1', '/limit'],
    ['since=2026-01-01T00:00:00Z&since=2026-01-02T00:00:00Z', '/since'],
  ])('%s is refused', async (query, pointer) => {
    const { path } = await make('asked')
    const answer = await api.call('GET', `${path}?${query}`)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: pointer }] } })
  })

  test('begins no earlier than what is kept, and ends no later than now', async () => {
    const { path } = await make('asked')
    const { status, body } = await api.call('GET', `${path}?since=1970-01-01T00:00:00Z&until=9998-01-01T00:00:00Z`)
    expect(status).toBe(200)
    expect(Math.abs(Date.parse(body.since) - (Date.now() - 40 * 86_400_000))).toBeLessThan(5_000)
    expect(Math.abs(Date.parse(body.until) - Date.now())).toBeLessThan(5_000)
  })

  test('of an endpoint that is deleted, malformed or nobody’s there are none', async () => {
    const { path } = await make('asked')
    await api.call('DELETE', path.replace('/stats', ''))
    const others = ['ep_00000000000000000000000000', 'nobody', 'a%20b', 'ep_%00']
    for (const one of [path, ...others.map((name) => `/v1/tenants/asked/endpoints/${name}/stats`)]) {
      expect([404, 422]).toContain((await api.call('GET', one)).status)
    }
  })
})
