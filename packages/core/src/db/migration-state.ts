import { migrationsFolder, readMigrations, selectApplied } from './migrate.ts'
import type { Queryable } from './pool.ts'

/** How a database's migrations and ours agree. Names, in order. */
export type MigrationState = {
  /** Not applied yet. */
  pending: string[]
  /** Applied, and not ours: of a newer version, or of one that was left. */
  unknown: string[]
  /** Applied with another text than ours. */
  changed: string[]
}

/** Looks, and changes nothing. Null where Posthorn was never installed, or this role may not see it. */
export async function readMigrationState(db: Queryable, folder = migrationsFolder): Promise<MigrationState | null> {
  const there = await db.query<{ there: boolean }>(
    `select to_regclass('posthorn._prisma_migrations') is not null as there`,
  )
  if (!there.rows[0]!.there) return null
  const ours = await readMigrations(folder)
  const { rows } = await db.query<{ migration_name: string; checksum: string }>(selectApplied)
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]))
  const known = new Set(ours.map(({ name }) => name))
  return {
    pending: ours.filter(({ name }) => !applied.has(name)).map(({ name }) => name),
    unknown: [...applied.keys()].filter((name) => !known.has(name)).sort(),
    changed: ours.filter(({ name, checksum }) => (applied.get(name) ?? checksum) !== checksum).map(({ name }) => name),
  }
}
