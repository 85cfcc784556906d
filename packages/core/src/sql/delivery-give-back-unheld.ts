import type { Queryable } from '../db/pool.ts'

/**
 * Give back unheld: leased -> ready, for leases that their own dispatcher does not know of.
 *
 * A claim whose answer was lost with its connection may have been committed. Nobody acts on such leases, and without this
 * they would end by themselves, counted as attempts that were never made: a delivery with a single attempt would fail
 * without a request.
 *
 * Invariants
 *   - Only for the dispatcher that leased them, while it has no claim under way: what it does not hold, it has never sent.
 *   - As if they had never been claimed: neither logged nor counted.
 *   - A new ticket, so that nothing of the lost claim can match. The row lock gives the transaction its id before it.
 */
const giveBackUnheld = `
with unheld as materialized (
  select d.ctid as at
  from posthorn.delivery d
  where d.state = 1 and d.dispatcher_id = any($1::integer[]) and d.ticket <> all($2::bigint[])
  order by d.event_id, d.endpoint_id
  for update of d skip locked
)
update posthorn.delivery d
set state = 0, ticket = nextval('posthorn.ticket'), attempts = d.attempts - 1, lease_expires_at = null, dispatcher_id = null
from unheld
where d.ctid = unheld.at
returning d.endpoint_id`

/**
 * @param dispatcherIds those of the caller's own under which a claim's end is not known
 * @param held the tickets of all leases that the caller has
 * @returns the lane of each lease that was given back
 */
export async function giveBackUnheldDeliveries(
  db: Queryable,
  dispatcherIds: readonly number[],
  held: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ endpoint_id: string }>(giveBackUnheld, [dispatcherIds, held])
  return rows.map((row) => row.endpoint_id)
}
