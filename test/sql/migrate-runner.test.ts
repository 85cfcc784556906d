import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MigrationError, migrate } from '@posthorn/core/db'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { admin, databaseUrl } from '../support/template.ts'

const ours = fileURLToPath(new URL('../../prisma/migrations/', import.meta.url))

let folder: string
let client: pg.Client
let url: string
let name: string
let count = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthorn-migrations-'))
})

beforeEach(async () => {
  await client?.end()
  if (name !== undefined) await admin(inject('adminUrl'), `drop database ${name} with (force)`)
  await rm(folder, { recursive: true })
  await cp(ours, folder, { recursive: true })
  name = `${inject('template').prefix}migrate_${process.pid}_${++count}`
  await admin(inject('adminUrl'), `create database ${name} template template0 encoding 'UTF8'`)
  url = databaseUrl(inject('adminUrl'), name)
  client = new pg.Client({ connectionString: url })
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await admin(inject('adminUrl'), `drop database ${name} with (force)`)
  await rm(folder, { recursive: true })
})

async function addMigration(migrationName: string, sql: string): Promise<void> {
  await mkdir(join(folder, migrationName))
  await writeFile(join(folder, migrationName, 'migration.sql'), sql)
}

async function ledger(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select migration_name as name from posthorn._prisma_migrations where finished_at is not null order by started_at, 1',
  )
  return rows.map((row) => row.name)
}

const run = () => migrate({ connectionString: url, folder })

test('all migrations are applied in order, once, and noted as Prisma notes them', async () => {
  const names = (await readdir(ours)).filter((entry) => !entry.endsWith('.toml')).sort()
  const applied: string[] = []
  expect(await migrate({ connectionString: url, onApplied: (each) => applied.push(each) })).toEqual(names)
  expect(applied).toEqual(names)
  expect(await ledger()).toEqual(names)
  expect(await run()).toEqual([])
  const { rows } = await client.query(
    `select from posthorn._prisma_migrations where checksum !~ '^[0-9a-f]{64}$' or applied_steps_count <> 1 or logs is not null`,
  )
  expect(rows).toEqual([])
})

test('processes that start at once take turns: each migration is applied by one of them', async () => {
  const results = await Promise.all([run(), run(), run(), run()])
  expect(results.flat().sort()).toEqual(await ledger())
  expect(results.filter((applied) => applied.length > 0)).toHaveLength(1)
})

test('a migration that was changed after it was applied is refused, and nothing after it is applied', async () => {
  const [first] = await run()
  await writeFile(join(folder, first!, 'migration.sql'), 'select 1')
  await addMigration('20990101000000_later', 'create table posthorn.later (id integer)')
  await expect(run()).rejects.toThrow(MigrationError)
  await expect(run()).rejects.toThrow(`migration ${first} was changed`)
  expect(await ledger()).not.toContain('20990101000000_later')
})

test('a database that has gone ahead is served by the former version, which is restarted during an upgrade', async () => {
  await addMigration('20990101000000_later', 'create table posthorn.later (id integer)')
  await run()
  await rm(join(folder, '20990101000000_later'), { recursive: true })
  const newer: string[][] = []
  expect(await migrate({ connectionString: url, folder, onNewer: (names) => newer.push(names) })).toEqual([])
  expect(newer).toEqual([['20990101000000_later']])
})

test('a migration that we do not know among ours is refused: that database is not of this project', async () => {
  await addMigration('20261129000050_astray', 'create table posthorn.astray (id integer)')
  await run()
  await rm(join(folder, '20261129000050_astray'), { recursive: true })
  await expect(run()).rejects.toThrow(/20261129000050_astray, which this version does not know/)
})

test('a migration that fails leaves nothing of itself, keeps those before it, and is applied once it is mended', async () => {
  const broken = '20990101000000_broken'
  await addMigration(broken, 'create table posthorn.half (id integer); select 1 / 0; create table posthorn.rest ()')
  await expect(run()).rejects.toThrow(`migration ${broken} failed: division by zero`)
  const before = await ledger()
  expect(before).toHaveLength((await readdir(folder)).length - 2)
  const { rows } = await client.query(`select to_regclass('posthorn.half') as half`)
  expect(rows).toEqual([{ half: null }])
  await writeFile(join(folder, broken, 'migration.sql'), 'create table posthorn.half (id integer)')
  expect(await run()).toEqual([broken])
  expect(await ledger()).toEqual([...before, broken])
})

test('the tables of the product beside ours, and its own migrations, are left alone', async () => {
  await client.query(`
    create table public._prisma_migrations (id text primary key, migration_name text);
    insert into public._prisma_migrations values ('1', '20200101000000_of_the_product');
    create table public.event (id integer)`)
  await run()
  const { rows } = await client.query('select migration_name from public._prisma_migrations')
  expect(rows).toEqual([{ migration_name: '20200101000000_of_the_product' }])
  await client.query('select from public.event')
})

test('a database that is not UTF8 is refused in one line', async () => {
  const odd = `${name}_latin`
  await admin(
    inject('adminUrl'),
    `create database ${odd} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`,
  )
  try {
    await expect(migrate({ connectionString: databaseUrl(inject('adminUrl'), odd), folder })).rejects.toThrow(
      'the database must be UTF8, and is LATIN1',
    )
  } finally {
    await admin(inject('adminUrl'), `drop database ${odd} with (force)`)
  }
})
