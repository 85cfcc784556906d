import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { createClient } from './pool.ts'

/** Prisma's own lock for `migrate deploy`, so that the two never run at once. */
const advisoryLock = 72707369

export const migrationsFolder = fileURLToPath(new URL('../../../../prisma/migrations/', import.meta.url))

// As Prisma makes it, where `?schema=posthorn` has it look: `prisma migrate deploy` and `status` agree with what is
// written here, and the product's own migrations in the same database are not touched.
const createLedger = `
create schema if not exists posthorn;
create table if not exists posthorn._prisma_migrations (
  id                  varchar(36) primary key not null,
  checksum            varchar(64) not null,
  finished_at         timestamptz,
  migration_name      varchar(255) not null,
  logs                text,
  rolled_back_at      timestamptz,
  started_at          timestamptz not null default now(),
  applied_steps_count integer not null default 0
);`

export const selectApplied = `
select migration_name, checksum from posthorn._prisma_migrations where finished_at is not null and rolled_back_at is null`

const insertApplied = `
insert into posthorn._prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
values ($1, $2, $3, $4, now(), 1)`

export class MigrationError extends Error {
  override name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }

export async function readMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const startedAt = new Date()
  await client.query('begin isolation level read committed')
  try {
    await client.query(migration.sql)
    await client.query(insertApplied, [randomUUID(), migration.checksum, migration.name, startedAt])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error })
  }
}

export type MigrateOptions = {
  connectionString: string
  /** The folder of `<time>_<name>/migration.sql`; the project's own by default. */
  folder?: string
  onApplied?: (name: string) => void
  /** The database has migrations of a newer version: nothing is applied, and this version goes on working with it. */
  onNewer?: (names: string[]) => void
  /** A migration went on without something that is not needed to work; the message says what can be done. */
  onWarning?: (message: string) => void
}

/**
 * Brings the database to the newest migration, each in one transaction, and makes the partitions of the coming days.
 * Two processes that start at once take turns by an advisory lock; the second finds nothing to do. An applied migration
 * whose text has changed is refused, and so is a database that has migrations we do not know among ours. One that has
 * gone ahead of us is served as it is: during an upgrade the former version is restarted too, and migrations leave it working.
 *
 * @returns the names of the migrations applied now
 * @throws MigrationError with one line for the operator
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const migrations = await readMigrations(options.folder ?? migrationsFolder)
  const client = createClient(options.connectionString, 'posthorn migrate')
  // A dropped connection rejects the statement under way; the event must not end the process as well.
  client.on('error', () => {})
  client.on('notice', ({ severity, message }) => {
    if (severity === 'WARNING' && message?.startsWith('posthorn: ')) options.onWarning?.(message)
  })
  await client.connect()
  try {
    const { rows } = await client.query<{ version: number; encoding: string }>(
      `select current_setting('server_version_num')::integer as version, getdatabaseencoding() as encoding`,
    )
    if (rows[0]!.version < 140_000) throw new MigrationError('Postgres 14 or newer is needed')
    if (rows[0]!.encoding !== 'UTF8') throw new MigrationError(`the database must be UTF8, and is ${rows[0]!.encoding}`)
    await client.query('select pg_advisory_lock($1)', [advisoryLock])
    await client.query(createLedger)
    const ledger = await client.query<{ migration_name: string; checksum: string }>(selectApplied)
    const applied = new Map(ledger.rows.map((row) => [row.migration_name, row.checksum]))
    const known = new Set(migrations.map((migration) => migration.name))
    const newest = migrations.at(-1)?.name ?? ''
    const unknown = [...applied.keys()].filter((name) => !known.has(name))
    const astray = unknown.find((name) => name < newest)
    if (astray !== undefined) {
      throw new MigrationError(
        `the database has migration ${astray}, which this version does not know and newer ones replaced`,
      )
    }
    if (unknown.length > 0) options.onNewer?.(unknown)
    const done: string[] = []
    for (const migration of migrations) {
      const checksum = applied.get(migration.name)
      if (checksum === migration.checksum) continue
      if (checksum !== undefined)
        throw new MigrationError(`migration ${migration.name} was changed after it was applied`)
      await apply(client, migration)
      done.push(migration.name)
      options.onApplied?.(migration.name)
    }
    await client.query('select posthorn.make_partitions()')
    return done
  } finally {
    // Ends the session, and the advisory lock with it.
    await client.end()
  }
}
