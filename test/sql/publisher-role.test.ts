import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { migrate } from '@posthorn/core/db'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { admin, databaseUrl } from '../support/template.ts'
import { eventually } from '../support/wait.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let owner: pg.Client
let product: pg.Client
const role = `shop_${process.pid}`

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Client(database.url)
  await owner.connect()
  await owner.query(`create role ${role} login password 'test'`)
  await owner.query(`grant posthorn_publisher to ${role}`)
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

test('a user with the role publishes in its own transaction', async () => {
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

test('the role may call the two publish functions, and no table, sequence or other function is open to it', async () => {
  const { rows: functions } = await owner.query<{ name: string }>(
    `select p.proname as name from pg_proc p
     where p.pronamespace = 'posthorn'::regnamespace and has_function_privilege('posthorn_publisher', p.oid, 'execute')
     order by 1`,
  )
  expect(functions.map(({ name }) => name)).toEqual(['publish', 'publish_batch'])
  const { rows: relations } = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace) and case c.relkind
       when 'S' then has_sequence_privilege('posthorn_publisher', c.oid, 'usage, select, update')
       when 'i' then false when 'I' then false
       else has_table_privilege('posthorn_publisher', c.oid, 'select, insert, update, delete, truncate, references, trigger')
         or has_any_column_privilege('posthorn_publisher', c.oid, 'select, insert, update, references') end`,
  )
  expect(relations).toEqual([])
  const { rows } = await owner.query(
    `select r.rolcanlogin, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolbypassrls, r.rolreplication,
       has_schema_privilege(r.oid, 'posthorn', 'create') as create_here,
       has_schema_privilege(r.oid, 'posthorn_partitions', 'usage') as partitions,
       exists (select from pg_auth_members m where m.member = r.oid) as has_roles
     from pg_roles r where r.rolname = 'posthorn_publisher'`,
  )
  expect(new Set(Object.values(rows[0]))).toEqual(new Set([false]))
})

/** An empty database, migrated by whoever the test likes. */
async function emptyDatabase(owner = ''): Promise<{ name: string; url: string }> {
  const adminUrl = inject('adminUrl')
  const name = inject('template').prefix + randomBytes(6).toString('hex')
  await admin(adminUrl, `create database ${name} template template0 encoding 'UTF8' ${owner && `owner ${owner}`}`)
  onTestFinished(() => admin(adminUrl, `drop database if exists ${name} with (force)`))
  return { name, url: databaseUrl(adminUrl, name) }
}

test('two databases of one cluster that are migrated at once both have the role', async () => {
  const databases = await Promise.all([emptyDatabase(), emptyDatabase()])
  await Promise.all(databases.map(({ url }) => migrate({ connectionString: url })))
  for (const { url } of databases) {
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client.query(
      `select has_function_privilege('posthorn_publisher',
         'posthorn.publish(text, text, text, text, text[], text, timestamptz)', 'execute') as may`,
    )
    await client.end()
    expect(rows).toEqual([{ may: true }])
  }
})

test('whoever makes the role at the same moment does not fail the migration', async () => {
  // As the migration makes it, under a name of the test's own: the role itself is there, and other databases use it.
  const name = `made_${randomBytes(6).toString('hex')}`
  const block = /do \$\$[\s\S]*?\$\$;/.exec(await readMigration())![0].replaceAll('posthorn_publisher', name)
  const other = new pg.Client(database.url)
  await other.connect()
  onTestFinished(async () => {
    await other.query(`drop role ${name}`)
    await other.end()
  })
  await owner.query('begin')
  await owner.query(block)
  const { rows: at } = await other.query<{ pid: number }>('select pg_backend_pid() as pid')
  const second = other.query(block)
  await eventually(async () => {
    const { rows: waits } = await owner.query(`select wait_event_type as type from pg_stat_activity where pid = $1`, [
      at[0]!.pid,
    ])
    return waits[0].type === 'Lock'
  }, 20_000)
  await owner.query('commit')
  await second
  const { rows: made } = await owner.query('select rolcanlogin from pg_roles where rolname = $1', [name])
  expect(made).toEqual([{ rolcanlogin: false }])
})

test('a user who may not make roles migrates all the same, and is told what is left to do', async () => {
  const name = `migrator_${randomBytes(6).toString('hex')}`
  // In a cluster where nobody has made the role it would be missing; here it stands already, so its name is another's.
  const missing = `missing_${randomBytes(6).toString('hex')}`
  const adminUrl = inject('adminUrl')
  await admin(adminUrl, `create role ${name} login password 'test'`)
  // Run in the opposite order: the database goes first.
  onTestFinished(() => admin(adminUrl, `drop role if exists ${name}, ${missing}`))
  const { url } = await emptyDatabase(name)
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`set role ${name}`)
  const warnings: string[] = []
  client.on('notice', ({ message }) => warnings.push(message ?? ''))
  const sql = (await readMigration()).replaceAll('posthorn_publisher', missing)
  await client.query(
    `create schema posthorn;
     create function posthorn.publish(text, text, text, text, text[], text, timestamptz) returns text language sql as 'select null';
     create function posthorn.publish_batch(text, text[], text[], text, jsonb, text[], timestamptz[]) returns text[] language sql as 'select null::text[]'`,
  )
  await client.query(sql)
  expect(warnings).toEqual([
    expect.stringMatching(new RegExp(`${missing} was not made.*create role ${missing} nologin`)),
  ])
  expect((await client.query('select posthorn.grant_publisher() as granted')).rows).toEqual([{ granted: false }])
  // And when one who may has made it:
  await owner.query(`create role ${missing} nologin`)
  expect((await client.query('select posthorn.grant_publisher() as granted')).rows).toEqual([{ granted: true }])
  await client.end()
  // The whole of it, as that user: nothing else needs more than owning the database.
  const own = new URL(url)
  own.username = name
  own.password = 'test'
  const fresh = new pg.Client(url)
  await fresh.connect()
  await fresh.query('drop schema posthorn cascade')
  await fresh.end()
  await migrate({ connectionString: own.href })
})

function readMigration(): Promise<string> {
  return readFile(
    new URL('../../prisma/migrations/20261129000500_publisher_role/migration.sql', import.meta.url),
    'utf8',
  )
}
