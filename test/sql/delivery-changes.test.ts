import { randomUUID } from 'node:crypto'
import { createPool, type Pool, type PoolClient } from '@posthorn/core/db'
import { cancel, listDeliveries, publishTestEvent, readDelivery, redeliver } from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/wait.ts'

let database: TestDatabase
let pool: Pool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = createPool({ connectionString: database.url, max: 12, applicationName: 'test', onError: () => {} })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const tenant = 'acme'

async function owed(state = 0): Promise<{ event: string; endpoint: string }> {
  const endpoint = randomUUID()
  await pool.query(`insert into posthorn.endpoint (id, tenant_id, url) values ($1, $2, 'http://x')`, [endpoint, tenant])
  await pool.query(
    'insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms) values ($1, $2, 1, 1000)',
    [endpoint, tenant],
  )
  const event = await publishTestEvent(pool, tenant, endpoint, { type: 'a', payload: Buffer.from('1') })
  await pool.query('update posthorn.delivery set state = $2 where event_id = $1', [event, state])
  return { event: event!, endpoint }
}

async function rows(event: string): Promise<{ delivery: number; attempt: number }> {
  const { rows } = await pool.query(
    `select (select count(*) from posthorn.delivery where event_id = $1)::integer as delivery,
            (select count(*) from posthorn.attempt where event_id = $1)::integer as attempt`,
    [event],
  )
  return rows[0]
}

const doCancel = (event: string, endpoint: string) => cancel(pool, tenant, event, endpoint)
const doRedeliver = (event: string, endpoint: string) => redeliver(pool, tenant, event, endpoint)

/** Runs `work` while a claim of the row is under way that then commits. */
async function duringClaim<T>(event: string, work: () => Promise<T>): Promise<T> {
  const claim: PoolClient = await pool.connect()
  await claim.query('begin')
  await claim.query(
    `update posthorn.delivery set state = 1, ticket = nextval('posthorn.ticket'), attempts = attempts + 1 where event_id = $1`,
    [event],
  )
  const working = work()
  await eventually(async () => (await pool.query('select from pg_locks where not granted')).rowCount, 10_000)
  await claim.query('commit')
  claim.release()
  return working
}

test('a cancel that meets a claim leaves the lease alone', async () => {
  for (const state of [0, 2]) {
    const { event, endpoint } = await owed(state)
    expect(await duringClaim(event, () => doCancel(event, endpoint))).toBe('in_flight')
    expect(await rows(event)).toEqual({ delivery: 1, attempt: 0 })
  }
})

test('a redelivery of a scheduled one that meets a claim leaves the lease alone', async () => {
  const { event, endpoint } = await owed(2)
  expect(await duringClaim(event, () => doRedeliver(event, endpoint))).toBe('in_flight')
  const { rows: found } = await pool.query('select state from posthorn.delivery where event_id = $1', [event])
  expect(found).toEqual([{ state: 1 }])
})

test('twenty cancels at once log one end, and twenty redeliveries make one row', async () => {
  const { event, endpoint } = await owed()
  const canceled = await Promise.all(Array.from({ length: 20 }, () => doCancel(event, endpoint)))
  expect(new Set(canceled)).toEqual(new Set(['canceled']))
  expect(await rows(event)).toEqual({ delivery: 0, attempt: 1 })
  const again = await Promise.all(Array.from({ length: 20 }, () => doRedeliver(event, endpoint)))
  expect(new Set(again)).toEqual(new Set(['owed']))
  expect(await rows(event)).toEqual({ delivery: 1, attempt: 1 })
})

test('a redelivery draws its ticket after its transaction has its id, and numbers go on', async () => {
  const { event, endpoint } = await owed()
  await doCancel(event, endpoint)
  await pool.query('update posthorn.attempt set number = 7 where event_id = $1', [event])
  expect(await doRedeliver(event, endpoint)).toBe('owed')
  const { rows: found } = await pool.query(
    'select state, attempts, step, due_at <= now() as due from posthorn.delivery where event_id = $1',
    [event],
  )
  expect(found).toEqual([{ state: 0, attempts: 7, step: 0, due: true }])
})

test('an end without an attempt outranks the attempt of its number, whatever their ids', async () => {
  const { event, endpoint } = await owed()
  await pool.query('delete from posthorn.delivery where event_id = $1', [event])
  // Logged by a dispatcher whose clock is ahead.
  await pool.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at, status)
     values ($1, $2, posthorn.uuid_v7(now() + interval '1 hour'), 1, 2, 2, null, now(), now(), 500),
            ($1, $2, posthorn.uuid_v7(now()), 1, 0, 6, 'endpoint_disabled', now(), now(), null)`,
    [event, endpoint],
  )
  expect(await readDelivery(pool, tenant, event, endpoint)).toMatchObject({
    state: 'canceled',
    reason: 'endpoint_disabled',
    attempts: 1,
    lastStatus: 500,
  })
})

test('a delivery is read whole while it ends and is owed again and again', async () => {
  const { event, endpoint } = await owed()
  let done = false
  const changing = (async () => {
    for (let n = 0; n < 100; n++) {
      await doCancel(event, endpoint)
      await doRedeliver(event, endpoint)
    }
    done = true
  })()
  const states = new Set<string | undefined>()
  while (!done) states.add((await readDelivery(pool, tenant, event, endpoint))?.state)
  await changing
  expect([...states].sort()).toEqual(['canceled', 'pending'])
})

async function tuplesRead(): Promise<{ scanned: number; indexed: number }> {
  // Each connection tells its figures by and by, or when asked to; the pool's are all idle now.
  const clients = await Promise.all(Array.from({ length: 12 }, () => pool.connect()))
  await Promise.all(clients.map((client) => client.query('select pg_stat_force_next_flush()')))
  const { rows } = await clients[0]!.query(
    `select sum(seq_tup_read)::integer as scanned, (select sum(idx_tup_read)::integer from pg_stat_user_indexes) as indexed
     from pg_stat_user_tables where relname ~ '^(event|attempt)_2|^delivery$'`,
  )
  for (const client of clients) client.release()
  return rows[0]
}

test('the lists walk indexes, whatever the statistics say', async () => {
  await pool.query('analyze')
  await pool.query(
    `insert into posthorn.event (id, tenant_id, type, deliveries, payload)
     select posthorn.uuid_v7(now() - n * interval '1 second'), 'big', 'a', 1, '1' from generate_series(1, 20000) n`,
  )
  await pool.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at)
     select e.id, '00000000-0000-7000-8000-000000000001', posthorn.uuid_v7(now()), 1, 1, 4, now(), now()
     from posthorn.event e where e.tenant_id = 'big'`,
  )
  const before = await tuplesRead()
  for (let n = 0; n < 20; n++) {
    expect((await listDeliveries(pool, { tenantId: 'big', limit: 50 })).rows).toHaveLength(50)
  }
  const after = await tuplesRead()
  expect(after.scanned - before.scanned).toBe(0)
  // 250 events walked for a page, and a few entries for each delivery: not the 40,000 that there are.
  expect((after.indexed - before.indexed) / 20).toBeLessThan(1_000)
})
