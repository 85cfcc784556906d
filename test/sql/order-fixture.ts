import { decodeId } from '@posthorn/core'
import type { Queryable } from '@posthorn/core/db'

/**
 * Publishes events for the one endpoint of the tenant that `addLane` made, through posthorn.publish_batch, one a key.
 * @returns the events' ids, in order
 */
export async function publishKeyed(
  db: Queryable,
  endpointId: string,
  keys: readonly (string | null)[],
): Promise<string[]> {
  const { rows } = await db.query<{ ids: string[] }>(
    `select posthorn.publish_batch($1::text, array_fill('a.b'::text, array[$3::integer]),
       array_fill('1'::text, array[$3::integer]), ordering_keys => $2::text[]) as ids`,
    [endpointId, keys, keys.length],
  )
  return rows[0]!.ids.map((id) => decodeId('evt', id)!)
}

export type OrderRow = { event_id: string; state: number; head: boolean; keyed: boolean; placed: boolean }

/** The live rows of a lane, by event. */
export async function orderAt(db: Queryable, endpointId: string): Promise<OrderRow[]> {
  const { rows } = await db.query<OrderRow>(
    `select event_id, state, head, order_key is not null as keyed, place is not null as placed
     from posthorn.delivery where endpoint_id = $1 order by event_id`,
    [endpointId],
  )
  return rows
}
