import type { Queryable } from '../db/pool.ts'

/**
 * Promote: scheduled -> ready, when due.
 *
 * Invariants
 *   - Only the database's clock says what is due.
 *   - Small batches; a row that somebody else holds (a cancel, another promoter) is passed over.
 *   - The row lock gives the transaction its id before a ticket is drawn.
 *   - `from` spares the scan the dead entries below it, but not those since `settled`: a moment before which every
 *     transaction that could bring a row with an earlier due_at has ended. A row may be due before it is committed.
 */
const scheduledFrom = (due: string, settledMs: string): string =>
  `d.state = 2 and d.due_at >= least(${due}::timestamptz, to_timestamp(${settledMs}::float8 / 1000))`

const promoteDue = `
with due as materialized (
  select d.ctid as at, d.due_at
  from posthorn.delivery d
  where d.due_at <= now() and ${scheduledFrom('$1', '$3')}
  order by d.due_at
  limit $2
  for update skip locked
), moved as (
  update posthorn.delivery d
  set state = 0, ticket = nextval('posthorn.ticket')
  from due
  where d.ctid = due.at
  returning d.endpoint_id, d.due_at
)
select moved.endpoint_id, count(*)::integer as promoted, max(moved.due_at)::text as last_due_at
from moved group by moved.endpoint_id`

// The next moment at which there is something to promote, in milliseconds from now; the index gives it at once.
export const nextDue = (due: string, settledMs: string): string => `
select ceil(extract(epoch from d.due_at - now()) * 1000)::float8 as ms
from posthorn.delivery d where ${scheduledFrom(due, settledMs)}
order by d.due_at limit 1`

export type Promoted = { endpointIds: string[]; count: number; lastDueAt: string | null }

/** No row is looked at that was due before both. */
export type PromoteFrom = {
  /** `-infinity`, or a due_at up to which a former call promoted all that it saw. */
  due: string
  /** By the database's clock, in milliseconds since 1970. */
  settledMs: number
}

export async function promoteDeliveries(db: Queryable, from: PromoteFrom, limit: number): Promise<Promoted> {
  const { rows } = await db.query<{ endpoint_id: string; promoted: number; last_due_at: string }>({
    name: 'promote-due',
    text: promoteDue,
    values: [from.due, limit, from.settledMs],
  })
  const result: Promoted = { endpointIds: [], count: 0, lastDueAt: null }
  for (const row of rows) {
    result.endpointIds.push(row.endpoint_id)
    result.count += row.promoted
    if (result.lastDueAt === null || row.last_due_at > result.lastDueAt) result.lastDueAt = row.last_due_at
  }
  return result
}

/** Milliseconds until the next scheduled delivery is due (0 when it is), or null when none is scheduled. */
export async function readNextDue(db: Queryable, from: PromoteFrom): Promise<number | null> {
  const { rows } = await db.query<{ ms: number }>({
    name: 'next-due',
    text: nextDue('$1', '$2'),
    values: [from.due, from.settledMs],
  })
  return rows[0] === undefined ? null : Math.max(0, rows[0].ms)
}
