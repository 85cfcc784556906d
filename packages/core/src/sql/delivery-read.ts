import type { Queryable } from '../db/pool.ts'
import { before, idBounds, lower, type Period } from './event-bounds.ts'

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
// superseded does. The row goes and the log comes in one statement, and one statement reads both here, so that it is never
// between the two. An end without an attempt carries the last attempt's number, and comes after it.
//   $1 tenant · $2, $3 lowest and highest event · $4 events at most · $5 pairs of event and endpoint at most, but for one
//   event · $6 event type · $7 state · $8, $9 only behind this event and endpoint · $10 rows at most · $11 endpoint
const seenEvents = `
with walked as materialized (
  select e.id, e.type, e.deliveries,
         sum(case when $6::text is null or e.type = $6 then e.deliveries else 0 end) over (order by e.id desc rows unbounded preceding) as running
  from (
    select e.id, e.type, e.deliveries from posthorn.event e
    where e.tenant_id = $1 and e.id >= $2 and e.id <= $3 order by e.id desc limit $4
  ) e
), seen as materialized (
  select w.id, w.type, w.running from walked w where w.running - w.deliveries < $5
)`

const statesOf = `
  left join lateral (
    select d.state, d.attempts, d.due_at from posthorn.delivery d
    where d.event_id = o.id and d.endpoint_id = o.endpoint_id
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
  ) last on true`

const deliveryColumns = `
  select o.id, o.endpoint_id, o.type,
    case when live.state in (0, 3) then 'pending' when live.state = 1 then 'in_flight' when live.state = 2 then 'scheduled'
         when ended.state = 4 then 'succeeded' when ended.state = 5 then 'failed' when ended.state = 6 then 'canceled'
         when ended.state = 2 then 'scheduled' else 'pending' end as state,
    case when ended.state in (5, 6) then ended.reason end as reason,
    coalesce(live.attempts, last.number, 0) as attempts,
    case when live.state = 2 then live.due_at end as next_attempt_at,
    last.status, last.error_code, ended.ended_at`

const answer = `
select t.walked as "walked", t.seen as "seen", t.lowest as "lowest", t.pairs as "pairs",
  f.id as "eventId", f.endpoint_id as "endpointId", f.type as "eventType", f.state as "state", f.reason as "reason",
  f.attempts as "attempts", f.next_attempt_at as "nextAttemptAt", f.status as "lastStatus", f.error_code as "lastError",
  f.ended_at as "endedAt"
from (
  select (select count(*)::integer from walked) as walked, (select count(*)::integer from seen) as seen,
         (select s.id from seen s order by s.id limit 1) as lowest,
         (select coalesce(max(s.running), 0)::integer from seen s) as pairs
) t
left join lateral (
  select f.id, f.endpoint_id, f.type, f.state, f.reason, f.attempts, f.next_attempt_at, f.status, f.error_code, f.ended_at
  from found f where $7::text is null or f.state = $7
  order by f.id desc, f.endpoint_id desc limit $10
) f on true
order by f.id desc, f.endpoint_id desc`

const listByTenant = `${seenEvents}, found as (${deliveryColumns}
  from (
    select s.id, s.type, x.endpoint_id from seen s cross join lateral (
      select d.endpoint_id from posthorn.delivery d where d.event_id = s.id
      union
      select a.endpoint_id from posthorn.attempt a where a.event_id = s.id
    ) x
    where ($6::text is null or s.type = $6) and ($8::uuid is null or s.id < $8 or x.endpoint_id < $9::uuid)
      and ($11::uuid is null or x.endpoint_id = $11)
  ) o ${statesOf}
  where live.state is not null or ended.state is not null
)${answer}`

// With the endpoint known its rows are found by their whole key, however many others the events went to.
const listByEndpoint = `${seenEvents}, found as (${deliveryColumns}
  from (
    select s.id, s.type, $11::uuid as endpoint_id from seen s
    where ($6::text is null or s.type = $6) and ($8::uuid is null or s.id < $8 or $11::uuid < $9::uuid)
  ) o ${statesOf}
  where live.state is not null or ended.state is not null
)${answer}`

type Walked = { walked: number; seen: number; lowest: string | null; pairs: number }
type Found = Walked & DeliveryRow & { eventId: string | null }

/** What one page may cost, whatever the filters leave: then it is short, and the next goes on. */
const maxEvents = 5_000
const maxPairs = 20_000
const eventsAtOnce = 1_000
const eventsAtOnceUnfiltered = 250
const pairsAtOnce = 2_000

/** Behind this delivery; with `endpointId` null, behind all of the event. */
export type DeliveryPosition = { eventId: string; endpointId: string | null }

export type DeliveryList = Period & {
  tenantId: string
  eventId?: string | undefined
  endpointId?: string | undefined
  eventType?: string | undefined
  state?: DeliveryState | undefined
  after?: DeliveryPosition | undefined
  limit: number
}

export type DeliveryPage = {
  rows: DeliveryRow[]
  /** Null at the end. A page may be short and yet not the last. */
  next: DeliveryPosition | null
  /** Events looked at. */
  examined: number
}

/**
 * A page of a tenant's deliveries: newest event first, within an event by endpoint, the highest id first. Its order never
 * changes, so no page repeats or skips what was there when the first was read; the states are those of the moment.
 */
export async function listDeliveries(queryable: Queryable, list: DeliveryList): Promise<DeliveryPage> {
  const { after, limit } = list
  const bounds = idBounds(list)
  const low = list.eventId === undefined || list.eventId < bounds.low ? bounds.low : list.eventId
  let high = lower(bounds.high, list.eventId ?? bounds.high)
  if (after !== undefined) high = lower(high, after.endpointId === null ? before(after.eventId) : after.eventId)
  // Without a filter each pair is a row.
  const filtered = list.endpointId !== undefined || list.eventType !== undefined || list.state !== undefined
  const rows: DeliveryRow[] = []
  let events = 0
  let pairs = 0
  for (;;) {
    const wanted = limit + 1 - rows.length
    const most = Math.min(filtered ? eventsAtOnce : eventsAtOnceUnfiltered, maxEvents - events)
    const found = await walk(queryable, list, { low, high, most, pairs: filtered ? pairsAtOnce : wanted, rows: wanted })
    for (const row of found) if (row.eventId !== null) rows.push(row)
    const { walked, seen, lowest, pairs: cost } = found[0]!
    events += seen
    pairs += list.endpointId === undefined ? cost : 0
    if (rows.length > limit) {
      const page = rows.slice(0, limit)
      const { eventId, endpointId } = page.at(-1)!
      return { rows: page, next: { eventId, endpointId }, examined: events }
    }
    if (lowest === null || (seen === walked && walked < most)) return { rows, next: null, examined: events }
    if (events >= maxEvents || pairs >= maxPairs) {
      return { rows, next: { eventId: lowest, endpointId: null }, examined: events }
    }
    high = before(lowest)
  }
}

type Step = { low: string; high: string; most: number; pairs: number; rows: number }

async function walk(queryable: Queryable, list: DeliveryList, step: Step): Promise<Found[]> {
  const byEndpoint = list.endpointId !== undefined
  const { rows } = await queryable.query<Found>({
    name: byEndpoint ? 'delivery-list-endpoint' : 'delivery-list',
    text: byEndpoint ? listByEndpoint : listByTenant,
    values: [
      list.tenantId,
      step.low,
      step.high,
      step.most,
      // Of one endpoint there is at most one pair an event.
      byEndpoint ? Number.MAX_SAFE_INTEGER : step.pairs,
      list.eventType ?? null,
      list.state ?? null,
      list.after?.endpointId ? list.after.eventId : null,
      list.after?.endpointId ?? null,
      step.rows,
      list.endpointId ?? null,
    ],
  })
  return rows
}

/** One delivery; null when the tenant has no such event, or it was never owed to the endpoint. */
export async function readDelivery(
  queryable: Queryable,
  tenantId: string,
  eventId: string,
  endpointId: string,
): Promise<DeliveryRow | null> {
  const { rows } = await listDeliveries(queryable, { tenantId, eventId, endpointId, limit: 1 })
  return rows[0] ?? null
}
