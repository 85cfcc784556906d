import type { Pool } from '../db/pool.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'
import { beginOrdered } from './stats-begin.ts'

/** Lanes looked at: some 8 microseconds each. */
const maxLanes = 10_000
/** Scheduled rows looked at, from the longest due. */
const maxScheduled = 100

// A loose scan of the ready index, one probe a lane, as the sweep does it; only the first row of each lane is read, by ticket the
// one that has waited longest. Beside it what is due and was not promoted yet. Only lanes that may be claimed from count: what
// waits at a paused or blocked lane waits as it should, and so does what waits behind a strict lane's head. For a glance: it gives up long before anybody waits for it.
const readOldest = `
with recursive walk as (
  (select d.endpoint_id, d.due_at, 1 as n from posthorn.delivery d
   where d.state = 0 order by d.endpoint_id, d.ticket limit 1)
  union all
  select next.endpoint_id, next.due_at, walk.n + 1
  from walk cross join lateral (
    select d.endpoint_id, d.due_at from posthorn.delivery d
    where d.state = 0 and d.endpoint_id > walk.endpoint_id
    order by d.endpoint_id, d.ticket limit 1
  ) next
  where walk.n < $1
), late as materialized (
  select d.endpoint_id, d.due_at from posthorn.delivery d
  where d.state = 2 and d.due_at <= now() order by d.due_at limit $2
)
select o.due_at as "dueAt", extract(epoch from now() - o.due_at)::float8 as "ageSeconds"
from (
  select min(w.due_at) as due_at
  from (select walk.endpoint_id, walk.due_at from walk union all select late.endpoint_id, late.due_at from late) w
  cross join lateral (
    select from posthorn.lane l
    where l.endpoint_id = w.endpoint_id and l.status = 0 and (l.blocked_until is null or l.blocked_until <= now())
      and (l.ordering <> 1 or (
        select h.state = 2 from posthorn.delivery h
        where h.endpoint_id = l.endpoint_id and h.head and h.state <> 1
        order by h.order_key, h.ticket limit 1) is not true)
    limit 1
  ) open
  where w.due_at <= now()
) o
where o.due_at is not null`

const beginGlance = `${beginOrdered}; set local statement_timeout = '500ms'`

export type OldestDue = { dueAt: Date; ageSeconds: number }

/**
 * The delivery that has been due longest at a lane that may be claimed from; null when none is.
 * @throws what Postgres says, 57014 when it took longer than half a second
 */
export async function readOldestDue(pool: Pool): Promise<OldestDue | null> {
  const { rows } = await pipelinedTransaction(pool, beginGlance, (client) =>
    client.query<OldestDue>({ name: 'stats-oldest-due', text: readOldest, values: [maxLanes, maxScheduled] }),
  )
  return rows[0] ?? null
}
