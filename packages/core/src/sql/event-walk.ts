import type { Pool } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

export type EventRow = {
  id: string
  tenantId: string
  type: string
  channels: string[] | null
  orderingKey: string | null
  deliverAt: Date | null
  deliveries: number
}

// Walks the tenant's own index (tenant_id, id) from the top, partition by partition, and stops after so many. Without
// sorting, or it would read all of the tenant's events to sort them. Bounded by pairs, and ordered by them: with the tenant
// given as equal, the planner walked the primary key instead, through all tenants' events, where its statistics are of a time
// with one tenant. The bounds of the id alone prune the partitions.
const walkEventsText = `
select e.id as "id", e.tenant_id as "tenantId", e.type as "type", e.channels as "channels",
       e.ordering_key as "orderingKey", e.deliver_at as "deliverAt", e.deliveries as "deliveries"
from posthorn.event e
where (e.tenant_id, e.id) >= ($1, $2::uuid) and (e.tenant_id, e.id) <= ($1, $3::uuid) and e.id >= $2::uuid and e.id <= $3::uuid
order by e.tenant_id desc, e.id desc limit $4`

const beginWalk = `${beginGuarded}; set local enable_sort = off`

/** The tenant's newest events between two ids, both inclusive: at most `limit`, newest first. */
export function walkEvents(
  pool: Pool,
  tenantId: string,
  { low, high, limit }: { low: string; high: string; limit: number },
): Promise<EventRow[]> {
  return pipelinedTransaction(pool, beginWalk, async (client) => {
    const { rows } = await client.query<EventRow>({
      name: 'event-walk',
      text: walkEventsText,
      values: [tenantId, low, high, limit],
    })
    return rows
  })
}
