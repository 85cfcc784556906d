import type { Queryable } from '../db/pool.ts'

const selectSealed = `
select s.sealed from posthorn.endpoint_secret s limit 1`

/** One of the sealed secrets, or null where there is none yet: all are sealed with one key. */
export async function readSealedSample(db: Queryable): Promise<Buffer | null> {
  const { rows } = await db.query<{ sealed: Buffer }>(selectSealed)
  return rows[0]?.sealed ?? null
}
