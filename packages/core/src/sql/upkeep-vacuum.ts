import type { Queryable } from '../db/pool.ts'

const lock = 7306920

const readDead = `
select coalesce(s.n_dead_tup, 0)::bigint as dead from pg_stat_user_tables s
where s.schemaname = 'posthorn' and s.relname = 'delivery'`

// Autovacuum comes at most once an autovacuum_naptime (a minute), however low its thresholds: at 10,000 deliveries a
// second that is 600,000 dead rows. Vacuumed each few seconds the table stayed at 13 MB instead of 150. Truncation is off,
// for it takes a lock that stops all traffic.
const vacuum = `vacuum (truncate off, index_cleanup on, parallel 0) posthorn.delivery`

/** Dead rows of `delivery`, as the statistics have it. */
export async function readDeadDeliveries(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ dead: string }>({ name: 'dead-deliveries', text: readDead, values: [] })
  return rows[0] === undefined ? 0 : Number(rows[0].dead)
}

/**
 * Vacuums `delivery`, unless another process is at it. On a connection of its own, outside any transaction.
 *
 * @returns whether it ran
 */
export async function vacuumDeliveries(db: Queryable): Promise<boolean> {
  const held = await db.query<{ got: boolean }>(`select pg_try_advisory_lock($1) as got`, [lock])
  if (!held.rows[0]!.got) return false
  try {
    await db.query(vacuum)
    return true
  } finally {
    await db.query(`select pg_advisory_unlock($1)`, [lock])
  }
}
