import type { Queryable } from '../db/pool.ts'

/**
 * Release: held -> ready, as head, when the head of its key has ended.
 *
 * Invariants
 *   - A key with held deliveries has one head, and nothing but a head of it is ever leased. So that neither can be missed, a
 *     head ends, and a delivery is held, only while the lane's row is locked: by the claim that holds it, and by everything
 *     that ends a head, which locks the lane before this statement begins, in the transaction that ends the head.
 *   - The first held of the key goes: the one with the lowest ticket. All have tickets above the head's `place`, for they
 *     were held later; that bound spares the look-up the dead entries of those that went before.
 *   - Only the caller who deleted the head releases: a settle sent twice deletes nothing the second time.
 *   - It gets a new ticket, and keeps its old one as its place.
 */
const releaseHeld = `
with ended as materialized (
  select u.endpoint_id, u.order_key, u.place
  from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as u(endpoint_id, order_key, place)
), next as materialized (
  select h.at
  from ended
  cross join lateral (
    select d.ctid as at from posthorn.delivery d
    where d.state = 3 and d.endpoint_id = ended.endpoint_id and d.order_key = ended.order_key and d.ticket > ended.place
    order by d.ticket limit 1
  ) h
)
update posthorn.delivery d
set state = 0, head = true, place = d.ticket, ticket = nextval('posthorn.ticket'), due_at = now()
from next
where d.ctid = next.at
returning d.endpoint_id`

// In order, as everybody who locks more than one.
const lockLanes = `
select l.endpoint_id from posthorn.lane l where l.endpoint_id = any($1::uuid[]) order by l.endpoint_id for no key update`

/** A head that was deleted in the transaction under way. bigint as decimal text. */
export type EndedHead = { endpointId: string; orderKey: string; place: string }

/**
 * Lets the next of each key go. In the transaction that has ended the heads, and nothing in between.
 * @returns the lanes that have new work by it
 */
export async function releaseNext(client: Queryable, ended: readonly EndedHead[]): Promise<string[]> {
  const [, released] = await Promise.all([
    client.query(lockLanes, [[...new Set(ended.map((head) => head.endpointId))]]),
    client.query<{ endpoint_id: string }>({
      name: 'order-release',
      text: releaseHeld,
      values: [
        ended.map((head) => head.endpointId),
        ended.map((head) => head.orderKey),
        ended.map((head) => head.place),
      ],
    }),
  ])
  return [...new Set(released.rows.map((row) => row.endpoint_id))]
}

/** The ended heads among rows that tell, for each, its key and its place; null for what is none. */
export function endedHeads(
  rows: readonly { endpoint_id: string; order_key?: string | null; place?: string | null }[],
): EndedHead[] {
  return rows.flatMap((row) =>
    row.order_key == null || row.place == null
      ? []
      : [{ endpointId: row.endpoint_id, orderKey: row.order_key, place: row.place }],
  )
}
