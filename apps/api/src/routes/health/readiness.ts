import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Pool } from '@posthorn/core/db'

const migrationsFolder = fileURLToPath(new URL('../../../../../prisma/migrations/', import.meta.url))
const deadlineMs = 1_000

const selectApplied = `
select m.migration_name as name from posthorn._prisma_migrations m
where m.finished_at is not null and m.rolled_back_at is null`

const selectMissingPartitions = `
select p.name
from (select parent || '_' || to_char((now() at time zone 'UTC')::date + ahead, 'YYYYMMDD') as name
      from unnest(array['event', 'attempt']) parent, unnest(array[0, 1]) ahead) p
where to_regclass('posthorn_partitions.' || p.name) is null
order by p.name`

/** SQLSTATE of a table that is not there: nothing was migrated. */
const undefinedTable = '42P01'

/**
 * Why requests cannot be served: none is ready. Asks the database for at most a second. The reasons are fixed words and
 * names of ours: no address, no error text.
 */
export async function findUnreadiness(pool: Pool): Promise<string[]> {
  const reasons = Promise.all([missingMigrations(pool), missingPartitions(pool)]).then(
    (found) => found.flat(),
    (error: unknown) =>
      (error as { code?: unknown }).code === undefinedTable
        ? ['the database is not migrated']
        : ['the database cannot be reached'],
  )
  const deadline = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => deadline.resolve(['the database does not answer within 1 s']), deadlineMs)
  try {
    return await Promise.race([reasons, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function missingMigrations(pool: Pool): Promise<string[]> {
  const entries = await readdir(migrationsFolder, { withFileTypes: true })
  const { rows } = await pool.query<{ name: string }>(selectApplied)
  const applied = new Set(rows.map((row) => row.name))
  const missing = entries.filter((entry) => entry.isDirectory() && !applied.has(entry.name))
  return missing.map((entry) => `migration ${entry.name} is not applied`).sort()
}

async function missingPartitions(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(selectMissingPartitions)
  return rows.map((row) => `partition ${row.name} is missing`)
}
