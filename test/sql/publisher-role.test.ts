import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let owner: pg.Client
let product: pg.Client
const role = `shop_${process.pid}`

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Client(database.url)
  await owner.connect()
  await owner.query(`create role ${role} login password 'test'`)
  await owner.query(`grant usage on schema posthorn to ${role}`)
  await owner.query(`grant execute on function posthorn.publish, posthorn.publish_batch to ${role}`)
  const url = new URL(database.url)
  url.username = role
  url.password = 'test'
  product = new pg.Client(url.href)
  await product.connect()
})

afterAll(async () => {
  await product.end()
  await owner.query(`drop owned by ${role}`)
  await owner.query(`drop role ${role}`)
  await owner.end()
  await database.drop()
})

test('a role with no more than the two grants of the README publishes in its own transaction', async () => {
  await product.query('begin')
  const { rows } = await product.query<{ id: string }>(
    `select posthorn.publish('acme', 'invoice.paid', '{"id":1042}') as id`,
  )
  await product.query('commit')
  expect(rows[0]!.id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/)
  const stored = await owner.query<{ type: string }>(`select e.type from posthorn.event e where e.tenant_id = 'acme'`)
  expect(stored.rows).toEqual([{ type: 'invoice.paid' }])
})

test('it can read no payload and no secret, write no row, and call nothing else', async () => {
  for (const statement of [
    'select payload from posthorn.event',
    'select sealed from posthorn.endpoint_secret',
    'delete from posthorn.delivery',
    `select posthorn.publish_to(null, 'acme', 'x', '')`,
    'select posthorn.make_partitions()',
  ]) {
    await expect(product.query(statement), statement).rejects.toMatchObject({ code: '42501' })
  }
})

test('objects that it makes in its temporary schema are not used in place of ours', async () => {
  await product.query('create temp table setting (name text, value text)')
  await product.query('create temp table event (id uuid)')
  await product.query(`select posthorn.publish('acme', 'invoice.paid', '{}')`)
  const { rows } = await owner.query<{ n: number }>(`select count(*)::integer as n from posthorn.event`)
  expect(rows[0]!.n).toBe(2)
})
