import { publish } from '@posthorn/client'
import { doorbellChannel, encodeId } from '@posthorn/core'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addLane, leasesOf, useBench } from '../sql/claim-fixture.ts'

/*
 * A product's transaction that has published and stays open: what it holds, and that nobody waits for it.
 */
const bench = useBench()
let product: pg.Client
let other: pg.Client

beforeAll(async () => {
  product = new pg.Client({ connectionString: bench.database.url })
  other = new pg.Client({ connectionString: bench.database.url, lock_timeout: 20_000, statement_timeout: 30_000 })
  await Promise.all([product.connect(), other.connect()])
})
afterAll(() => Promise.all([product?.end(), other?.end()]))

type Lock = { type: string; relation: string | null; mode: string }

async function locksOf(client: pg.Client): Promise<Lock[]> {
  const { rows } = await client.query<Lock>(
    `select distinct l.locktype as type, l.relation::regclass::text as relation, l.mode from pg_locks l
     where l.pid = pg_backend_pid() and l.granted and l.mode <> 'AccessShareLock' order by 1, 2, 3`,
  )
  return rows
}

test('a publish is one statement, sends no NOTIFY, and takes locks that only DDL waits for', async () => {
  const lane = await addLane(bench.pool)
  await bench.pool.query('insert into posthorn.tenant (id) values ($1)', [lane])
  let notified = false
  other.on('notification', () => {
    notified = true
  })
  await other.query(`listen ${doorbellChannel}`)
  const statements: string[] = []
  const counted = {
    query(text: string, values: unknown[]) {
      statements.push(text)
      return product.query(text, values)
    },
  }
  await product.query('begin')
  await publish(counted, lane, { type: 'a.b', payload: 1 })
  expect(statements).toHaveLength(1)
  const locks = await locksOf(product)
  // Its own transaction id, and the tables that it wrote rows to.
  expect(locks.filter(({ type }) => type !== 'relation').map(({ type, mode }) => `${type} ${mode}`)).toEqual([
    'transactionid ExclusiveLock',
    'virtualxid ExclusiveLock',
  ])
  const written = locks.filter(({ type }) => type === 'relation')
  expect(new Set(written.map(({ mode }) => mode))).toEqual(new Set(['RowExclusiveLock']))
  const tables = written
    .map(({ relation }) => relation!.replace(/_\d+.*$/, ''))
    .filter((name) => !/pkey|_idx|_key$/.test(name))
  expect(tables).toEqual(expect.arrayContaining(['posthorn.event', 'posthorn.delivery']))
  await product.query('commit')
  // What was notified has come with the answer to the next statement.
  await other.query('select 1')
  expect(notified).toBe(false)
  expect(await leasesOf(bench, [lane])).toHaveLength(1)
})

test('while it stays open, nobody else waits: to publish for the same new tenant and endpoint, or to claim', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 100 })
  await product.query('begin')
  const held = await publish(product, lane, { type: 'a.b', payload: 'held' }, { idempotencyKey: 'held' })
  const published: string[] = []
  for (let n = 0; n < 20; n++) {
    await other.query('begin')
    published.push(await publish(other, lane, { type: 'a.b', payload: n }, { idempotencyKey: `other-${n}` }))
    await other.query('commit')
  }
  const claimed = await leasesOf(bench, [lane])
  expect(claimed.map(({ eventId }) => encodeId('evt', eventId)).sort()).toEqual(published.toSorted())
  await product.query('commit')
  expect((await leasesOf(bench, [lane])).map(({ eventId }) => encodeId('evt', eventId))).toEqual([held])
})

test('only its own idempotency key is waited for, and its end decides', async () => {
  const tenant = 'keys'
  await product.query('begin')
  const first = await publish(product, tenant, { type: 'a', payload: 1 }, { idempotencyKey: 'k' })
  const second = publish(other, tenant, { type: 'a', payload: 1 }, { idempotencyKey: 'k' })
  let answered = false
  void second.finally(() => {
    answered = true
  })
  // Another key goes past meanwhile, from a third connection.
  const third = await bench.pool.connect()
  try {
    await publish(third, tenant, { type: 'a', payload: 1 }, { idempotencyKey: 'another' })
  } finally {
    third.release()
  }
  expect(answered).toBe(false)
  await product.query('commit')
  expect(await second).toBe(first)
})
