import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type DriftEngine, startDriftEngine } from './drift-engine.ts'

/*
 * Prisma compares the migrated database with schema.prisma: tables, columns, types, defaults, keys, whole indexes. It does not
 * see partial indexes, checks, partitions and functions: schema-tables.test.ts looks at those.
 */

let database: TestDatabase
let schema: string
let engine: DriftEngine

beforeAll(async () => {
  database = await createTestDatabase()
  schema = await readFile(fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url)), 'utf8')
  engine = await startDriftEngine(database.url, schema)
})

afterAll(async () => {
  await engine.close()
  await database.drop()
})

test('the migrated database is what schema.prisma says', async () => {
  expect(await engine.diff(schema)).toBe('')
})

test('what only one of the two has is reported', async () => {
  const changed = (from: string, to: string): string => {
    expect(schema).toContain(from)
    return schema.replace(from, to)
  }
  expect(await engine.diff(changed('  uid            String?\n', ''))).toMatch(/drop column "uid"/i)
  expect(await engine.diff(changed('  uid            String?\n', '  uid            String\n'))).toMatch(
    /"uid" set not null/i,
  )
  expect(await engine.diff(changed('  @@index([tenantId, id], map: "event_tenant")\n', ''))).toMatch(/drop index/i)

  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('alter table posthorn.lane add column stray integer; create table posthorn.stray (id integer)')
  await client.end()
  const drift = await engine.diff(schema)
  expect(drift).toMatch(/drop column "stray"/i)
  expect(drift).toMatch(/drop table .*"stray"/i)
})
