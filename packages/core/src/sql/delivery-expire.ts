import type { Pool } from '../db/pool.ts'
import { logEnds } from './attempt-ends.ts'
import { noLane } from './lane-sweep.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'
import { beginHot } from './planner-guards.ts'

/**
 * Expire: ready -> failed, for what has waited longer than the greatest age at a lane that is paused, blocked or limited.
 *
 * Invariants
 *   - No lane is locked: what is too old ends the same way when a claim meets it, so that it does not matter whether the lane
 *     was opened just now.
 *   - A ready row's ticket says nothing of its age (a retry has a late one), so all of a lane is gone through: `rows` at most a
 *     call, from a cursor, in the order of the ready index.
 *   - Rows that somebody else has locked are passed over, and met in the next round.
 *   - Each end is logged in the statement that deletes the row.
 *   - Ordered lanes have their own: delivery-expire-ordered.ts.
 */
export const laneWaits = `
        (l.status = 1 or (l.status = 0 and (l.probing or l.blocked_until > now() or l.rate_interval_us is not null)))`

const expireReady = `
with lane as materialized (
  select x.endpoint_id, x.waits
  from (
    select l.endpoint_id,
      l.ordering = 0 and not l.reordering and ${laneWaits} as waits
    from posthorn.lane l
    where l.endpoint_id >= $1::uuid
    order by l.endpoint_id
    limit $4
  ) x
  order by x.endpoint_id
), stretch as materialized (
  select d.endpoint_id, d.event_id, d.ticket, d.old
  from lane
  cross join lateral (
    select r.endpoint_id, r.event_id, r.ticket, r.owed_at < now() - $3::bigint * interval '1 millisecond' as old
    from posthorn.delivery r
    where r.state = 0 and r.endpoint_id = lane.endpoint_id
      and r.ticket >= case when lane.endpoint_id = $1::uuid then $2::bigint else 0 end
    order by r.ticket
    limit $5
  ) d
  where lane.waits
  limit $5
), gone as materialized (
  select d.at
  from (
    select s.event_id, s.endpoint_id, s.ticket from stretch s where s.old order by s.event_id, s.endpoint_id
  ) s
  cross join lateral (
    select x.ctid as at from posthorn.delivery x
    where x.event_id = s.event_id and x.endpoint_id = s.endpoint_id and x.ticket = s.ticket
    limit 1
    for update skip locked
  ) d
), deleted as (
  delete from posthorn.delivery d using gone
  where d.ctid = gone.at
  returning d.event_id, d.endpoint_id, d.attempts
), logged as (
${logEnds('deleted', '5', `'expired'`)}
)
select (select count(*) from deleted)::integer as expired,
  (select count(*) from stretch)::integer as met,
  (select count(*) from lane)::integer as lanes,
  (select max(lane.endpoint_id::text) from lane) as last_lane,
  last.endpoint_id as at_lane, last.ticket as at_ticket
from (select true) one
left join lateral (
  select s.endpoint_id, s.ticket from stretch s order by s.endpoint_id desc, s.ticket desc limit 1
) last on true`

/** A place in the ready index: a lane, and a ticket in it. */
export type ExpireCursor = { endpointId: string; ticket: bigint }

export const beforeAllLanes: ExpireCursor = Object.freeze({ endpointId: noLane, ticket: 0n })

export type ExpireOptions = {
  from: ExpireCursor
  maxAgeMs: number
  /** Lanes gone through at most. */
  lanes: number
  /** Rows looked at, at most. */
  rows: number
}

type Step = {
  expired: number
  met: number
  lanes: number
  last_lane: string | null
  at_lane: string | null
  at_ticket: string | null
}

/**
 * One step of a round over all lanes.
 * @returns how many deliveries ended, and where the next step goes on; null when the round is over
 */
export async function expireWaiting(
  pool: Pool,
  options: ExpireOptions,
): Promise<{ expired: number; next: ExpireCursor | null }> {
  const { from, maxAgeMs } = options
  const { rows } = await pipelinedTransaction(pool, beginHot, (client) =>
    client.query<Step>({
      name: 'expire-ready',
      text: expireReady,
      values: [from.endpointId, from.ticket.toString(), maxAgeMs, options.lanes, options.rows],
    }),
  )
  const { expired, met, lanes, last_lane, at_lane, at_ticket } = rows[0]!
  if (met >= options.rows) return { expired, next: { endpointId: at_lane!, ticket: BigInt(at_ticket!) + 1n } }
  // Past the last lane: its rows were all met.
  if (lanes >= options.lanes) return { expired, next: { endpointId: last_lane!, ticket: maxTicket } }
  return { expired, next: null }
}

const maxTicket = 9_223_372_036_854_775_807n
