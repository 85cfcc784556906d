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
export const hotGuards =
  'set local enable_seqscan = off; set local enable_hashjoin = off; ' +
  'set local enable_mergejoin = off; set local enable_bitmapscan = off; ' +
  'set local enable_material = off; set local jit = off; ' +
  "set local idle_in_transaction_session_timeout = '5s'; " +
  'select pg_current_xact_id()'

export const beginHot = `begin isolation level read committed; ${hotGuards}`
