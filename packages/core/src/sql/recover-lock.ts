import type { Queryable } from '../db/pool.ts'

// Key of the advisory locks of endpoints at which what has ended is being owed again.
const lock = 7306920

/**
 * Keeps other recoveries and all redeliveries of an endpoint out until the transaction ends, for as long as one batch takes.
 * In a statement of its own: what they have committed meanwhile is in the snapshot of the next.
 */
export async function lockRecovery(db: Queryable, endpointId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock($1, hashtext($2))', [lock, endpointId])
}

/** Waits for a batch of a recovery, and keeps the next one out. Redeliveries do not wait for each other. */
export async function lockRedelivery(db: Queryable, endpointId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock_shared($1, hashtext($2))', [lock, endpointId])
}
