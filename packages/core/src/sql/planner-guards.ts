import type { Queryable } from '../db/pool.ts'

/**
 * Begins the work of a hot transaction, in one round trip with the statement that follows it.
 *
 * With stale statistics (a table that was small when it was analyzed) a generic plan turns into a hash join over a
 * sequential scan: 161 ms instead of 1.8. The hot statements have one right plan, a nested loop over the partial indexes,
 * and the settings leave no other. They are local to the transaction, so that a pooler's next client never meets them.
 *
 * They are not enough for a join: planned while the table held a handful of rows, `delete ... using batch` on the primary key is
 * turned round, reads the whole index, and compares each row with the whole batch, until the next statistics come. In the
 * first burst after a quiet start a settle took 2,200 us a row for that, and a claim 630. So hot statements look rows up in a
 * lateral sub-query with a limit, which can be read in one direction only, and change them by their place (ctid): for that
 * there is no other way than to fetch each.
 *
 * The transaction's id is drawn here, before any ticket is: marks (dispatcher-heartbeat.ts) trust that order.
 *
 * A dispatcher that is stopped or cut off between two statements would hold its locks (of up to 64 lanes, for a claim) as
 * long as the server believes in the connection, for hours: the server ends such a transaction after 5 s.
 */
const settings: readonly (readonly [name: string, value: string])[] = [
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_material', 'off'],
  ['jit', 'off'],
  // Planned once a connection: with all the partitions that takes longer than the statement.
  ['plan_cache_mode', 'force_generic_plan'],
  ['idle_in_transaction_session_timeout', '5s'],
]

export const hotGuards = `select pg_current_xact_id(), ${settings.map(([name, value]) => `set_config('${name}', '${value}', true)`).join(', ')}`

export const beginHot = `begin isolation level read committed; ${hotGuards}`

/** `beginHot` for what runs many times a second: parsed once a connection. Send what follows behind it, in one write. */
export function beginHotPrepared(client: Queryable): Promise<unknown> {
  return Promise.all([
    client.query('begin isolation level read committed'),
    client.query({ name: 'hot-guards', text: hotGuards }),
  ])
}
