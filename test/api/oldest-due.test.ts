import { createPool } from '@posthorn/core/db'
import { readOldestDue } from '@posthorn/core/sql'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())
beforeEach(() => api.pool.query('truncate posthorn.delivery, posthorn.lane'))

/** A lane and one delivery there that has been due for so many seconds. */
async function owe({ state = 0, seconds = 60, status = 0, blocked = false }): Promise<void> {
  await api.pool.query(
    `with l as (
       insert into posthorn.lane (endpoint_id, tenant_id, status, max_in_flight, timeout_ms, blocked_until)
       values (gen_random_uuid(), 'acme', $3, 1, 1000, case when $4 then now() + interval '1 hour' end) returning endpoint_id
     )
     insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
     select gen_random_uuid(), l.endpoint_id, nextval('posthorn.ticket'), now(), now() - $2 * interval '1 s', $1 from l`,
    [state, seconds, status, blocked],
  )
}

const age = async () => (await readOldestDue(api.pool))?.ageSeconds ?? null

test('is null when nothing is due', async () => {
  expect(await age()).toBeNull()
  await owe({ seconds: -60 })
  await owe({ seconds: -60, state: 2 })
  expect(await age()).toBeNull()
})

test('is the oldest over all lanes, ready or scheduled', async () => {
  await owe({ seconds: 100 })
  await owe({ seconds: 300 })
  await owe({ seconds: 200 })
  expect(await age()).toBeCloseTo(300, -1)
  await owe({ seconds: 400, state: 2 })
  expect(await age()).toBeCloseTo(400, -1)
})

test('leaves out what waits as it should: at paused, disabled and blocked lanes, leased, held', async () => {
  await owe({ seconds: 900, status: 1 })
  await owe({ seconds: 900, status: 2 })
  await owe({ seconds: 900, status: 3 })
  await owe({ seconds: 900, blocked: true })
  await owe({ seconds: 900, blocked: true, state: 2 })
  await owe({ seconds: 900, state: 1 })
  await owe({ seconds: 900, state: 3 })
  expect(await age()).toBeNull()
  await owe({ seconds: 30 })
  expect(await age()).toBeCloseTo(30, -1)
})

test('is told beside readiness, is at most 5 s old, and makes nothing unready', async () => {
  await owe({ seconds: 600 })
  const first = await api.call('GET', '/readyz', { token: null })
  expect(first).toMatchObject({ status: 200, body: { status: 'ready', reasons: [] } })
  expect(first.body.oldest_due_age_seconds).toBeCloseTo(600, -1)
  expect(Math.abs(Date.parse(first.body.oldest_due_at) - (Date.now() - 600_000))).toBeLessThan(10_000)
  await owe({ seconds: 9_000 })
  expect((await api.call('GET', '/readyz')).body).toEqual(first.body)
})

test('is given up when the table cannot be read: readiness answers in time without it', async () => {
  const other = await startApiUnderTest()
  const blocker = createPool({
    connectionString: other.database.url,
    max: 1,
    applicationName: 'test',
    onError: () => {},
  })
  try {
    const client = await blocker.connect()
    await client.query('begin; lock table posthorn.delivery in access exclusive mode')
    const answer = await within(other.call('GET', '/readyz'), 1_500, () => 'readiness waits')
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'ready', reasons: [], oldest_due_at: null, oldest_due_age_seconds: null },
    })
    await client.query('rollback')
    client.release()
  } finally {
    await blocker.end()
    await other.stop()
  }
})
