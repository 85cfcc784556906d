import type { Pool } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

export type DeliveryState = 'pending' | 'in_flight' | 'scheduled' | 'succeeded' | 'failed' | 'canceled'

/** A delivery as users see it. */
export type DeliveryRow = {
  eventId: string
  endpointId: string
  eventType: string
  state: DeliveryState
  reason: string | null
  attempts: number
  nextAttemptAt: Date | null
  lastStatus: number | null
  lastError: string | null
  endedAt: Date | null
}

// Invariant: while a delivery is owed its row says its state; once it has ended, the last of its attempts that was not
// superseded does. The row goes and the log comes in one statement, and one statement reads both here, so it is never
// found between the two. An end without an attempt carries the last attempt's number, and comes after it.
//   $1, $2 events and their types · $3 state or null · $4, $5 only behind this event and endpoint, or null · $6 rows at most
const statesOfPairs = `
select o.id as "eventId", o.endpoint_id as "endpointId", o.type as "eventType", v.state as "state",
  case when ended.state in (5, 6) then ended.reason end as "reason",
  coalesce(live.attempts, last.number, 0) as "attempts",
  case when live.state = 2 then live.due_at end as "nextAttemptAt",
  last.status as "lastStatus", last.error_code as "lastError", ended.ended_at as "endedAt"
from o
left join lateral (
  select d.state, d.attempts, d.due_at from posthorn.delivery d
  where d.event_id = o.id and d.endpoint_id = o.endpoint_id limit 1
) live on true
left join lateral (
  select a.state, a.reason, a.ended_at from posthorn.attempt a
  where live.state is null and a.event_id = o.id and a.endpoint_id = o.endpoint_id and a.outcome <> 4
  order by a.number desc, (a.outcome = 0) desc, a.id desc limit 1
) ended on true
left join lateral (
  select a.number, a.status, a.error_code from posthorn.attempt a
  where a.event_id = o.id and a.endpoint_id = o.endpoint_id and a.outcome in (1, 2, 3)
  order by a.number desc, a.id desc limit 1
) last on true
cross join lateral (
  select case when live.state in (0, 3) then 'pending' when live.state = 1 then 'in_flight' when live.state = 2 then 'scheduled'
              when ended.state = 4 then 'succeeded' when ended.state = 5 then 'failed' when ended.state = 6 then 'canceled'
              when ended.state = 2 then 'scheduled' when ended.state = 0 then 'pending' end as state
) v
where v.state is not null and ($3::text is null or v.state = $3)
order by o.id desc, o.endpoint_id desc limit $6`

const allOfEvents = `
with o as materialized (
  select e.id, e.type, x.endpoint_id
  from unnest($1::uuid[], $2::text[]) e(id, type) cross join lateral (
    select d.endpoint_id from posthorn.delivery d where d.event_id = e.id
    union
    select a.endpoint_id from posthorn.attempt a where a.event_id = e.id
  ) x
  where $4::uuid is null or e.id < $4 or x.endpoint_id < $5::uuid
)${statesOfPairs}`

// With the endpoint known ($7) its rows are found by their whole key, however many others the events went to.
const ofOneEndpoint = `
with o as materialized (
  select e.id, e.type, $7::uuid as endpoint_id from unnest($1::uuid[], $2::text[]) e(id, type)
  where $4::uuid is null or e.id < $4 or $7::uuid < $5::uuid
)${statesOfPairs}`

export type StatesQuery = {
  events: readonly { id: string; type: string }[]
  endpointId?: string | undefined
  state?: DeliveryState | undefined
  after?: { eventId: string; endpointId: string } | undefined
  limit: number
}

/** The deliveries of these events: newest event first, within an event the highest endpoint id first. */
export function readStates(pool: Pool, query: StatesQuery): Promise<DeliveryRow[]> {
  const values: unknown[] = [
    query.events.map((event) => event.id),
    query.events.map((event) => event.type),
    query.state ?? null,
    query.after?.eventId ?? null,
    query.after?.endpointId ?? null,
    query.limit,
  ]
  const statement =
    query.endpointId === undefined
      ? { name: 'delivery-states', text: allOfEvents, values }
      : { name: 'delivery-states-endpoint', text: ofOneEndpoint, values: [...values, query.endpointId] }
  return pipelinedTransaction(pool, beginGuarded, async (client) => (await client.query<DeliveryRow>(statement)).rows)
}
