import { randomUUID } from 'node:crypto'
import { createPool, type Pool, transaction } from '@posthorn/core/db'
import { type PublishEvent, type PublishRequest, publishMany } from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let pool: Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = createPool({ connectionString: database.url, max: 8, applicationName: 'test', onError: () => {} })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

function event(payload: string, rest: Partial<PublishEvent> = {}): PublishEvent {
  return { type: 'a.b', payload: Buffer.from(payload), channels: null, orderingKey: null, deliverAt: null, ...rest }
}

function request(tenantId: string, events: PublishEvent[], idempotencyKey: string | null = null): PublishRequest {
  return { tenantId, idempotencyKey, events }
}

const publish = (requests: PublishRequest[]) => transaction(pool, (client) => publishMany(client, requests))

async function endpoint(tenantId: string, rest: { types?: string[]; channels?: string[]; status?: string } = {}) {
  const id = randomUUID()
  await pool.query(
    `insert into posthorn.endpoint (id, tenant_id, url, event_types, channels, status) values ($1, $2, 'http://x', $3, $4, $5)`,
    [id, tenantId, rest.types ?? [], rest.channels ?? [], rest.status ?? 'enabled'],
  )
  return id
}

async function payloads(ids: string[]): Promise<string[]> {
  const { rows } = await pool.query<{ payload: Buffer }>(
    'select e.payload from unnest($1::uuid[]) with ordinality u(id, o) join posthorn.event e on e.id = u.id order by u.o',
    [ids],
  )
  return rows.map((row) => row.payload.toString())
}

async function count(table: 'event' | 'delivery' | 'idempotency_key', tenantId: string): Promise<number> {
  const texts = {
    event: 'select count(*)::integer as n from posthorn.event where tenant_id = $1',
    delivery:
      'select count(*)::integer as n from posthorn.delivery d join posthorn.event e on e.id = d.event_id where e.tenant_id = $1',
    idempotency_key: 'select count(*)::integer as n from posthorn.idempotency_key where tenant_id = $1',
  }
  const { rows } = await pool.query<{ n: number }>(texts[table], [tenantId])
  return rows[0]!.n
}

function idsOf(result: Awaited<ReturnType<typeof publishMany>>[number] | undefined): string[] {
  if (result === undefined || result.outcome === 'reused') throw new Error('not accepted')
  return result.events.map((each) => each.id)
}

test('each request gets its own answer, its events in order, with the bytes that were given', async () => {
  const many = Array.from({ length: 300 }, (_, i) => event(` {"n": ${i}.0} `))
  const results = await publish([
    request('order-a', [event('{"first":1}')]),
    request('order-b', many, 'k1'),
    request('order-a', [event('"\\ud800"'), event('1e2')], 'k1'),
  ])
  expect(results.map((result) => result.outcome)).toEqual(['accepted', 'accepted', 'accepted'])
  expect(await payloads(idsOf(results[0]))).toEqual(['{"first":1}'])
  expect(await payloads(idsOf(results[1]))).toEqual(many.map((each) => Buffer.from(each.payload).toString()))
  expect(await payloads(idsOf(results[2]))).toEqual(['"\\ud800"', '1e2'])
})

test('a key used before gives the first answer again, and other content is told', async () => {
  await endpoint('keys')
  const batch = [event('1'), event('2', { type: 'x' }), event('3')]
  const [first] = await publish([request('keys', batch, 'k')])
  await endpoint('keys')
  const [again, reused, fresh, otherTenant] = await publish([
    request('keys', batch, 'k'),
    request('keys', [event('1'), event('2', { type: 'x' })], 'k2'),
    request('keys', [event('9')], 'k3'),
    request('keys2', batch, 'k'),
  ])
  expect(again).toEqual({ ...first, outcome: 'replayed', lanes: [] })
  expect(reused!.outcome).toBe('accepted')
  expect(fresh!.outcome).toBe('accepted')
  expect(otherTenant!.outcome).toBe('accepted')
  for (const other of [
    [event('1'), event('2', { type: 'x' }), event('4')],
    [event('1'), event('2', { type: 'x' })],
    [event('1', { channels: ['c'] }), event('2', { type: 'x' }), event('3')],
    [event('1', { deliverAt: new Date('2027-01-01T00:00:00Z') }), event('2', { type: 'x' }), event('3')],
    [event('1', { type: 'a.c' }), event('2', { type: 'x' }), event('3')],
  ]) {
    expect(await publish([request('keys', other, 'k')])).toEqual([{ outcome: 'reused' }])
  }
  expect(await count('event', 'keys')).toBe(3 + 2 + 1)
})

test('an event is owed to the endpoints that match its type and channels', async () => {
  const all = await endpoint('match')
  const below = await endpoint('match', { types: ['invoice.*'] })
  const exact = await endpoint('match', { types: ['invoice', 'other'] })
  const channel = await endpoint('match', { channels: ['c1', 'c2'] })
  const paused = await endpoint('match', { status: 'paused' })
  await endpoint('match', { status: 'disabled' })
  await endpoint('another')
  const owed = async (rest: Partial<PublishEvent>) => {
    const [result] = await publish([request('match', [event('{}', rest)])])
    if (result?.outcome !== 'accepted') throw new Error('not accepted')
    expect(result.events[0]!.deliveries).toBe(result.lanes.length)
    return result.lanes
  }
  expect(await owed({ type: 'invoice' })).toEqual([all, exact, paused].sort())
  expect(await owed({ type: 'invoice.paid.late' })).toEqual([all, below, paused].sort())
  expect(await owed({ type: 'z', channels: ['c2', 'c9'] })).toEqual([all, channel, paused].sort())
})

test('what is due later is scheduled, and rings for nobody', async () => {
  const id = await endpoint('later')
  const deliverAt = new Date(Date.now() + 3_600_000)
  const [result] = await publish([request('later', [event('{}', { deliverAt })])])
  expect(result).toMatchObject({ outcome: 'accepted', lanes: [] })
  const { rows } = await pool.query('select state, due_at, owed_at from posthorn.delivery where endpoint_id = $1', [id])
  expect(rows).toEqual([{ state: 2, due_at: deliverAt, owed_at: deliverAt }])
})

test('tickets rise in the order of the events', async () => {
  const id = await endpoint('tickets')
  await endpoint('tickets')
  const [one, two] = await publish([
    request('tickets', [event('1'), event('2')]),
    request(
      'tickets',
      Array.from({ length: 40 }, () => event('3')),
    ),
  ])
  const { rows } = await pool.query<{ event_id: string }>(
    'select event_id from posthorn.delivery where endpoint_id = $1 order by ticket',
    [id],
  )
  expect(rows.map((row) => row.event_id)).toEqual([...idsOf(one), ...idsOf(two)])
})

test('a publish that is rolled back leaves nothing', async () => {
  await endpoint('undone')
  const rolledBack = transaction(pool, async (client) => {
    await publishMany(client, [request('undone', [event('{}')], 'k')])
    throw new Error('the business change failed')
  })
  await expect(rolledBack).rejects.toThrow('the business change failed')
  expect(await count('event', 'undone')).toBe(0)
  expect(await count('delivery', 'undone')).toBe(0)
  expect(await count('idempotency_key', 'undone')).toBe(0)
  expect((await publish([request('undone', [event('{}')], 'k')]))[0]!.outcome).toBe('accepted')
})

test('a publish never waits for a tenant that another transaction is just making', async () => {
  await transaction(pool, async (product) => {
    await product.query(`select posthorn.publish('newcomer', 'a', '{}')`)
    const [result] = await transaction(pool, async (client) => {
      await client.query(`set local statement_timeout = '2s'`)
      return publishMany(client, [request('newcomer', [event('{}')])])
    })
    expect(result!.outcome).toBe('accepted')
  })
  expect(await count('event', 'newcomer')).toBe(2)
})

test('a key that an open transaction has used is waited for, and then its answer is given', async () => {
  const open = await pool.connect()
  await open.query('begin')
  const { rows } = await open.query<{ id: string }>(`select posthorn.publish('held', 'a.b', '{}', 'k') as id`)
  const waiting = publish([request('held', [event('{}')], 'k')])
  await expect
    .poll(async () => {
      const locks = await pool.query(`select 1 from pg_locks where not granted and pid <> pg_backend_pid()`)
      return locks.rowCount
    })
    .toBeGreaterThan(0)
  await open.query('commit')
  open.release()
  const [result] = await waiting
  expect(result!.outcome).toBe('replayed')
  const { rows: named } = await pool.query<{ id: string }>(`select posthorn.type_id('evt', $1) as id`, [
    idsOf(result)[0],
  ])
  expect(named).toEqual(rows)
})

test('keys are found by their index, whatever the statistics say', async () => {
  const client = await pool.connect()
  await client.query('truncate posthorn.idempotency_key')
  await client.query('analyze posthorn.idempotency_key')
  // Plans are made while the table is empty, and kept.
  for (let i = 0; i < 8; i++) await publishMany(client, [request('plans', [event('{}')], null)])
  for (let i = 0; i < 30; i++) {
    await publishMany(
      client,
      Array.from({ length: 100 }, (_, n) => request('plans', [event('{}')], `k${i}-${n}`)),
    )
  }
  await client.query('select pg_stat_force_next_flush()')
  const { rows } = await client.query<{ scanned: number; read: number }>(
    `select t.seq_tup_read::integer as scanned, (select sum(i.idx_tup_read)::integer from pg_stat_user_indexes i where i.relid = t.relid) as read
     from pg_stat_user_tables t where t.relid = 'posthorn.idempotency_key'::regclass`,
  )
  client.release()
  expect(rows[0]!.scanned).toBe(0)
  expect(rows[0]!.read).toBeLessThan(3_000 * 4)
})
