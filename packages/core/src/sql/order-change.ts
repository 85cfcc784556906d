import { type Pool, type Queryable, transaction } from '../db/pool.ts'
import { hotGuards } from './planner-guards.ts'

/**
 * Change of the ordering: held -> ready, until the lane has nothing of the old one.
 *
 * Invariants
 *   - From the change on (the API sets `reordering` with it, under the lane's lock) a lane that is ordered now leases
 *     nothing, until nothing of it is held or in flight: what has been leased under the old ordering is over before the new
 *     one decides.
 *     A lane without order goes on meanwhile.
 *   - A held row gets back the ticket that it had when it was ready, so that it stands where it stood among those that were
 *     never held. No lease ever had that ticket, so it fences nothing.
 *   - That ticket may be below what dispatchers know to be empty. `rewound` tells them to begin from the first once more; it
 *     is counted up in the transaction that lets claims go on, which is not before the last row is back.
 *   - A head stays a head, whatever the ordering: by key its key goes on waiting for it, and a strict lane waits for it too.
 *   - In batches under the lane's lock.
 */
const lockLane = `
select l.ordering from posthorn.lane l where l.endpoint_id = $1 and l.reordering for no key update`

const unhold = `
with back as materialized (
  select d.ctid as at from posthorn.delivery d
  where d.state = 3 and d.endpoint_id = $1
  order by d.order_key, d.ticket
  limit $2
)
update posthorn.delivery d
set state = 0, ticket = coalesce(d.place, d.ticket), place = null
from back where d.ctid = back.at`

const anyLeased = `
select true from posthorn.delivery d where d.state = 1 and d.endpoint_id = $1 order by d.ticket limit 1`

const finish = `
update posthorn.lane l set reordering = false, rewound = l.rewound + 1 where l.endpoint_id = $1`

const selectReordering = `
select l.endpoint_id from posthorn.lane l where l.reordering order by l.endpoint_id limit $1`

export async function readReorderingLanes(db: Queryable, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ endpoint_id: string }>({
    name: 'reordering-lanes',
    text: selectReordering,
    values: [limit],
  })
  return rows.map((row) => row.endpoint_id)
}

/**
 * One batch at a lane whose ordering was changed.
 * @returns `more`: some may still be held; `waiting`: for what is in flight; `done`
 */
export function reorderLane(pool: Pool, endpointId: string, limit: number): Promise<'more' | 'waiting' | 'done'> {
  return transaction(pool, async (client) => {
    await client.query(hotGuards)
    const { rows } = await client.query<{ ordering: number }>(lockLane, [endpointId])
    if (rows[0] === undefined) return 'done'
    const { rowCount } = await client.query({ name: 'reorder-unhold', text: unhold, values: [endpointId, limit] })
    if (rowCount === limit) return 'more'
    if (rows[0].ordering > 0 && (await client.query(anyLeased, [endpointId])).rowCount !== 0) return 'waiting'
    await client.query(finish, [endpointId])
    return 'done'
  })
}
