import { type Pool, type Queryable, transaction } from '../db/pool.ts'
import { logEnds } from './attempt-ends.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'
import { beginHot, hotGuards } from './planner-guards.ts'

/**
 * Drain: what is owed to a disabled or deleted endpoint ends as canceled.
 *
 * Invariants
 *   - Leased rows are left alone: they end by their own settle, which cancels what it would have scheduled.
 *   - Only rows of a lane that is closed in the statement's own snapshot: an endpoint that was enabled again meanwhile keeps
 *     what it is owed.
 *   - Batches with SKIP LOCKED: one `delete ... where endpoint_id` deadlocks with settles.
 *   - Rows are found by an index that begins with the lane, whatever the planner believes: it may take all that is scheduled
 *     for nothing, and walk it in search of this lane's. A range in the order of lanes, with sorting off, leaves it no choice.
 *   - Each end is logged in the statement that deletes the row.
 *   - The lane is locked first, and heads go only once nothing is held: an endpoint that is enabled again halfway has no held
 *     delivery without its head.
 *   - The mark `draining` falls only in a statement that sees no row of the lane at all. A settle that began before the closing
 *     may still schedule: to one snapshot its row is leased or scheduled, never neither. What a publish commits later is found
 *     by the sweep, a scheduled row once it is promoted.
 */
const cancelAtLane = (state: '0' | '2' | '3'): string => `
with gone as materialized (
  select d.at, l.status
  from posthorn.lane l
  cross join lateral (
    select r.ctid as at
    from posthorn.delivery r
    where r.endpoint_id >= $1::uuid and r.endpoint_id <= $1::uuid and r.state = ${state}
    order by r.endpoint_id
    limit $2
    for update skip locked
  ) d
  where l.endpoint_id = $1 and l.draining and l.status >= 2
), deleted as (
  delete from posthorn.delivery d using gone
  where d.ctid = gone.at
  returning d.event_id, d.endpoint_id, d.attempts, gone.status
)
${logEnds('deleted', '6', `case r.status when 2 then 'endpoint_disabled' else 'endpoint_deleted' end`)}`

const lockDraining = `
select from posthorn.lane l where l.endpoint_id = $1 and l.draining and l.status >= 2 for no key update`

const cancelReadyAtLane = cancelAtLane('0')
const cancelScheduledAtLane = cancelAtLane('2')
const cancelHeldAtLane = cancelAtLane('3')

const selectDraining = `
select l.endpoint_id from posthorn.lane l where l.draining and l.status >= 2 order by l.endpoint_id limit $1`

const noneIn = (state: '0' | '1' | '2' | '3'): string => `
    (select true from posthorn.delivery d
     where d.state = ${state} and d.endpoint_id >= $1::uuid and d.endpoint_id <= $1::uuid
     order by d.endpoint_id limit 1) is null`

const finishDrain = `
update posthorn.lane l set draining = false
where l.endpoint_id = $1 and l.draining
  and (l.status < 2 or (${(['0', '1', '2', '3'] as const).map(noneIn).join(' and')}))`

const drainGuards = `${hotGuards}; set local enable_sort = off`
const beginDrain = `${beginHot}; set local enable_sort = off`

// A publish that committed after the endpoint was disabled: the sweep meets its rows at a closed lane. Locked in order, as
// a settle locks lanes.
const markDraining = `
with closed as materialized (
  select l.endpoint_id from posthorn.lane l
  where l.endpoint_id = any($1::uuid[]) and l.status >= 2 and not l.draining
  order by l.endpoint_id
  for no key update
)
update posthorn.lane l set draining = true from closed where l.endpoint_id = closed.endpoint_id`

export async function readDrainingLanes(db: Queryable, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ endpoint_id: string }>({
    name: 'draining-lanes',
    text: selectDraining,
    values: [limit],
  })
  return rows.map((row) => row.endpoint_id)
}

/**
 * Cancels at most `limit` held rows of a lane, and, when those were all, as many ready and scheduled ones each.
 * @returns how many of the kind that had most
 */
export async function cancelAtClosedLane(pool: Pool, endpointId: string, limit: number): Promise<number> {
  let most = 0
  for (const statement of [cancelHeldAtLane, cancelReadyAtLane, cancelScheduledAtLane]) {
    const count = await transaction(pool, async (client) => {
      const [, , { rowCount }] = await Promise.all([
        client.query(drainGuards),
        client.query(lockDraining, [endpointId]),
        client.query(statement, [endpointId, limit]),
      ])
      return rowCount ?? 0
    })
    most = Math.max(most, count)
    if (statement === cancelHeldAtLane && count === limit) break
  }
  return most
}

/** @returns whether the lane is drained now */
export async function finishLaneDrain(pool: Pool, endpointId: string): Promise<boolean> {
  const { rowCount } = await pipelinedTransaction(pool, beginDrain, (client) => client.query(finishDrain, [endpointId]))
  return (rowCount ?? 0) > 0
}

export async function markLanesDraining(db: Queryable, endpointIds: readonly string[]): Promise<void> {
  await db.query(markDraining, [endpointIds])
}
