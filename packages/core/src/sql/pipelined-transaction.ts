import { inOneWrite, type Pool, type Queryable } from '../db/pool.ts'

/**
 * For a transaction whose statements have one right plan, a nested loop over the indexes, and no other: with the
 * statistics of a partition that was empty a moment ago, the planner takes scans and hashes of what is millions by now.
 */
export const guards =
  'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; ' +
  'set local enable_mergejoin = off; set local enable_material = off; set local jit = off; ' +
  // Planned once a connection: with all the partitions that takes longer than the statement.
  'set local plan_cache_mode = force_generic_plan'

export const beginGuarded = `begin isolation level read committed; ${guards}`

/**
 * Runs one statement in a transaction of its own, all in one round trip.
 *
 * Invariant: it returns only once the server has said COMMIT. When it throws, nothing is written, unless the connection was
 * lost with the commit under way: then nobody can know.
 *
 * @param begin opens the transaction, with its isolation and its settings
 * @param statement sends one statement, and nothing behind it
 */
export async function pipelinedTransaction<T>(
  pool: Pool,
  begin: string,
  statement: (client: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    // Where one fails the server skips none of the others, but makes the commit a rollback.
    const [begun, done, ended] = await Promise.allSettled(
      inOneWrite(client, () => [client.query(begin), statement(client), client.query('commit')] as const),
    )
    for (const part of [begun, ended]) {
      if (part.status === 'rejected') broken = part.reason as Error
    }
    if (done.status === 'rejected') throw done.reason
    if (broken !== undefined) throw broken
    if (ended.status !== 'fulfilled' || ended.value.command !== 'COMMIT') throw new Error('the server did not commit')
    return done.value
  } finally {
    client.release(broken)
  }
}
