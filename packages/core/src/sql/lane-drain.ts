import type { Queryable } from '../db/pool.ts'

/**
 * Drain: what is owed to a disabled or deleted endpoint ends as canceled.
 *
 * Invariants
 *   - Leased rows are left alone: they end by their own settle, which cancels what it would have scheduled.
 *   - Batches with SKIP LOCKED, in the order of keys: one `delete ... where endpoint_id` deadlocks with settles.
 *   - Each end is logged in the statement that deletes the row.
 *   - The mark `draining` falls only in a statement that sees no row of the lane, a leased one included: one that a settle
 *     is just moving is still leased for us, and the next round finds it.
 */
const cancelAtLane = (state: '0' | '3'): string => `
with gone as materialized (
  select d.event_id, d.endpoint_id, d.attempts
  from posthorn.delivery d
  where d.endpoint_id = $1 and d.state = ${state}
  order by d.ticket
  limit $2
  for update skip locked
), deleted as (
  delete from posthorn.delivery d using gone
  where d.event_id = gone.event_id and d.endpoint_id = gone.endpoint_id
  returning d.event_id, d.endpoint_id, d.attempts
)
insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
select deleted.event_id, deleted.endpoint_id, posthorn.uuid_v7(clock_timestamp()), deleted.attempts, 0, 6, $3, now(), now()
from deleted`

const cancelReadyAtLane = cancelAtLane('0')
const cancelHeldAtLane = cancelAtLane('3')

// Scheduled rows have no index by lane: they are walked once, by due_at, a bounded stretch a call.
const cancelScheduled = `
with stretch as materialized (
  select d.event_id, d.endpoint_id, d.due_at
  from posthorn.delivery d
  where d.state = 2 and d.due_at >= $1::timestamptz
  order by d.due_at
  limit $2
), gone as materialized (
  select d.event_id, d.endpoint_id, d.attempts, l.status
  from stretch
  join posthorn.lane l on l.endpoint_id = stretch.endpoint_id and l.draining and l.status >= 2
  join posthorn.delivery d on d.event_id = stretch.event_id and d.endpoint_id = stretch.endpoint_id
  where d.state = 2
  order by d.event_id, d.endpoint_id
  for update of d skip locked
), deleted as (
  delete from posthorn.delivery d using gone
  where d.event_id = gone.event_id and d.endpoint_id = gone.endpoint_id
  returning d.event_id, d.endpoint_id, d.attempts, gone.status
), logged as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
  select deleted.event_id, deleted.endpoint_id, posthorn.uuid_v7(clock_timestamp()), deleted.attempts, 0, 6,
    case deleted.status when 2 then 'endpoint_disabled' else 'endpoint_deleted' end, now(), now()
  from deleted
)
select (select count(*) from stretch)::integer as walked, (select max(due_at)::text from stretch) as last_due_at,
  (select count(*) from deleted)::integer as canceled`

const selectDraining = `
select l.endpoint_id, l.status from posthorn.lane l where l.draining and l.status >= 2 order by l.endpoint_id limit $1`

const finishDrain = `
update posthorn.lane l set draining = false
where l.endpoint_id = $1 and l.draining
  and (l.status < 2 or (
    not exists (select from posthorn.delivery d where d.state = 0 and d.endpoint_id = l.endpoint_id)
    and not exists (select from posthorn.delivery d where d.state = 1 and d.endpoint_id = l.endpoint_id)
    and not exists (select from posthorn.delivery d where d.state = 3 and d.endpoint_id = l.endpoint_id)))`

// A publish that committed after the endpoint was disabled: the sweep meets its rows at a closed lane.
const markDraining = `
update posthorn.lane l set draining = true where l.endpoint_id = any($1::uuid[]) and l.status >= 2 and not l.draining`

export type DrainingLane = { endpointId: string; reason: 'endpoint_disabled' | 'endpoint_deleted' }

export async function readDrainingLanes(db: Queryable, limit: number): Promise<DrainingLane[]> {
  const { rows } = await db.query<{ endpoint_id: string; status: number }>({
    name: 'draining-lanes',
    text: selectDraining,
    values: [limit],
  })
  return rows.map((row) => ({
    endpointId: row.endpoint_id,
    reason: row.status === 2 ? 'endpoint_disabled' : 'endpoint_deleted',
  }))
}

/** Cancels at most `limit` ready and `limit` held rows of a lane. @returns how many */
export async function cancelAtClosedLane(db: Queryable, lane: DrainingLane, limit: number): Promise<number> {
  const ready = await db.query(cancelReadyAtLane, [lane.endpointId, limit, lane.reason])
  const held = await db.query(cancelHeldAtLane, [lane.endpointId, limit, lane.reason])
  return (ready.rowCount ?? 0) + (held.rowCount ?? 0)
}

/** Walks at most `limit` scheduled rows from `from` on, canceling those of draining lanes. */
export async function cancelScheduledAtClosedLanes(
  db: Queryable,
  from: string,
  limit: number,
): Promise<{ walked: number; lastDueAt: string | null; canceled: number }> {
  const { rows } = await db.query<{ walked: number; last_due_at: string | null; canceled: number }>(cancelScheduled, [
    from,
    limit,
  ])
  const row = rows[0]!
  return { walked: row.walked, lastDueAt: row.last_due_at, canceled: row.canceled }
}

/** @returns whether the lane is drained now */
export async function finishLaneDrain(db: Queryable, endpointId: string): Promise<boolean> {
  const { rowCount } = await db.query(finishDrain, [endpointId])
  return (rowCount ?? 0) > 0
}

export async function markLanesDraining(db: Queryable, endpointIds: readonly string[]): Promise<void> {
  await db.query(markDraining, [endpointIds])
}
