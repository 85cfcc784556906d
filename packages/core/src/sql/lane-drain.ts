import type { Queryable } from '../db/pool.ts'

/**
 * Drain: what is owed to a disabled or deleted endpoint ends as canceled.
 *
 * Invariants
 *   - Leased rows are left alone: they end by their own settle, which cancels what it would have scheduled.
 *   - Only rows of a lane that is closed in the statement's own snapshot: an endpoint that was enabled again meanwhile keeps
 *     what it is owed.
 *   - Batches with SKIP LOCKED, in the order of keys: one `delete ... where endpoint_id` deadlocks with settles.
 *   - Each end is logged in the statement that deletes the row.
 *   - The mark `draining` falls only when a walk over the scheduled rows began after the lane had no lease any more: a settle
 *     that began before the closing may still schedule. And only in a statement that sees no ready, leased or held row of
 *     the lane. What a publish commits later is found by the sweep, a scheduled row once it is promoted.
 */
const cancelAtLane = (state: '0' | '3'): string => `
with gone as materialized (
  select d.event_id, d.endpoint_id, d.attempts, l.status
  from posthorn.lane l
  cross join lateral (
    select r.event_id, r.endpoint_id, r.attempts
    from posthorn.delivery r
    where r.endpoint_id = l.endpoint_id and r.state = ${state}
    order by r.ticket
    limit $2
    for update skip locked
  ) d
  where l.endpoint_id = $1 and l.draining and l.status >= 2
), deleted as (
  delete from posthorn.delivery d using gone
  where d.event_id = gone.event_id and d.endpoint_id = gone.endpoint_id
  returning d.event_id, d.endpoint_id, d.attempts, gone.status
)
insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
select deleted.event_id, deleted.endpoint_id, posthorn.uuid_v7(clock_timestamp()), deleted.attempts, 0, 6,
  case deleted.status when 2 then 'endpoint_disabled' else 'endpoint_deleted' end, now(), now()
from deleted`

const cancelReadyAtLane = cancelAtLane('0')
const cancelHeldAtLane = cancelAtLane('3')

// Scheduled rows have no index by lane: they are walked once, by due_at, a stretch a call. With ties, for a batch published
// with one deliver_at may be larger than a stretch, and the next begins after the last due_at.
const cancelScheduled = `
with stretch as materialized (
  select d.event_id, d.endpoint_id, d.due_at
  from posthorn.delivery d
  where d.state = 2 and d.due_at > $1::timestamptz
  order by d.due_at
  fetch first ($2::integer) rows with ties
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
select (select case when count(*) >= $2::integer then max(due_at)::text end from stretch) as next,
  (select count(*) from deleted)::integer as canceled`

const selectDraining = `
select l.endpoint_id,
  exists (select from posthorn.delivery d where d.state = 1 and d.endpoint_id = l.endpoint_id) as leased
from posthorn.lane l where l.draining and l.status >= 2 order by l.endpoint_id limit $1`

const finishDrain = `
update posthorn.lane l set draining = false
where l.endpoint_id = $1 and l.draining
  and (l.status < 2 or (
    not exists (select from posthorn.delivery d where d.state = 0 and d.endpoint_id = l.endpoint_id)
    and not exists (select from posthorn.delivery d where d.state = 1 and d.endpoint_id = l.endpoint_id)
    and not exists (select from posthorn.delivery d where d.state = 3 and d.endpoint_id = l.endpoint_id)))`

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

export type DrainingLane = {
  endpointId: string
  /** Whether it had leases when it was read: then it cannot be finished in this round. */
  leased: boolean
}

export async function readDrainingLanes(db: Queryable, limit: number): Promise<DrainingLane[]> {
  const { rows } = await db.query<{ endpoint_id: string; leased: boolean }>({
    name: 'draining-lanes',
    text: selectDraining,
    values: [limit],
  })
  return rows.map((row) => ({ endpointId: row.endpoint_id, leased: row.leased }))
}

/** Cancels at most `limit` ready and `limit` held rows of a lane. @returns how many */
export async function cancelAtClosedLane(db: Queryable, lane: DrainingLane, limit: number): Promise<number> {
  const ready = await db.query(cancelReadyAtLane, [lane.endpointId, limit])
  const held = await db.query(cancelHeldAtLane, [lane.endpointId, limit])
  return (ready.rowCount ?? 0) + (held.rowCount ?? 0)
}

/**
 * Walks at least `limit` scheduled rows that are due after `from`, canceling those of draining lanes.
 * @returns `next`: where the next call goes on; null when the end was reached
 */
export async function cancelScheduledAtClosedLanes(
  db: Queryable,
  from: string,
  limit: number,
): Promise<{ next: string | null; canceled: number }> {
  const { rows } = await db.query<{ next: string | null; canceled: number }>(cancelScheduled, [from, limit])
  return rows[0]!
}

/** After a walk that began when the lane had been read. @returns whether the lane is drained now */
export async function finishLaneDrain(db: Queryable, lane: DrainingLane): Promise<boolean> {
  if (lane.leased) return false
  const { rowCount } = await db.query(finishDrain, [lane.endpointId])
  return (rowCount ?? 0) > 0
}

export async function markLanesDraining(db: Queryable, endpointIds: readonly string[]): Promise<void> {
  await db.query(markDraining, [endpointIds])
}
