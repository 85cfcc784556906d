import type { Pool } from '../db/pool.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'
import { beginOrdered } from './stats-begin.ts'

/** Of each state so many are counted at most. */
export const maxCounted = 500_000
/** A lane's first rows: by ticket they are those that have waited longest, give or take what was redelivered. */
const headRows = 1_000

export type Backlog = {
  /** Ready or held. */
  pending: number
  scheduled: number
  inFlight: number
  oldestDueAt: Date | null
  /** Null when it has passed. */
  blockedUntil: Date | null
  failuresInARow: number
}

// Each count goes through the partial index of its state, and cannot go elsewhere: it asks for that index's order, and
// sorting is off. For scheduled rows the lane is bounded from both sides instead of being equal, or the planner would see that
// the index of all lanes' scheduled rows has the same order, and might walk that.
//   $1 endpoint · $2 rows counted at most · $3 rows looked at for the oldest
const readBacklog = `
select
  (select count(*) from (
     select from posthorn.delivery d where d.state = 0 and d.endpoint_id = $1 order by d.ticket limit $2) r)::integer
  + (select count(*) from (
     select from posthorn.delivery d where d.state = 3 and d.endpoint_id = $1 order by d.order_key, d.ticket limit $2) h)::integer
    as "pending",
  (select count(*) from (
     select from posthorn.delivery d
     where d.state = 2 and (d.endpoint_id, d.due_at) >= ($1::uuid, '-infinity'::timestamptz) and d.endpoint_id <= $1
     order by d.endpoint_id, d.due_at limit $2) s)::integer as "scheduled",
  (select count(*) from (
     select from posthorn.delivery d where d.state = 1 and d.endpoint_id = $1 order by d.ticket limit $2) f)::integer as "inFlight",
  least(
    (select min(o.due_at) from (
       select d.due_at from posthorn.delivery d where d.state = 0 and d.endpoint_id = $1 order by d.ticket limit $3) o
     where o.due_at <= now()),
    (select o.due_at from (
       select d.due_at from posthorn.delivery d
       where d.state = 2 and (d.endpoint_id, d.due_at) >= ($1::uuid, '-infinity'::timestamptz) and d.endpoint_id <= $1
       order by d.endpoint_id, d.due_at limit 1) o
     where o.due_at <= now())
  ) as "oldestDueAt",
  case when l.blocked_until > now() then l.blocked_until end as "blockedUntil",
  l.failures_in_a_row as "failuresInARow"
from posthorn.lane l where l.endpoint_id = $1`

/** What is owed to an endpoint now, and how its lane is; null when there is no such lane. */
export async function readBacklogOf(pool: Pool, endpointId: string): Promise<Backlog | null> {
  const { rows } = await pipelinedTransaction(pool, beginOrdered, (client) =>
    client.query<Backlog>({ name: 'stats-backlog', text: readBacklog, values: [endpointId, maxCounted, headRows] }),
  )
  return rows[0] ?? null
}
