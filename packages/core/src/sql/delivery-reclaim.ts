import { type Pool, type Queryable, transaction } from '../db/pool.ts'
import { endedHeads, releaseNext } from './order-release.ts'

/**
 * Reclaim: leased -> ready | failed, for leases whose end has passed or whose dispatcher has fallen silent.
 *
 * Invariants
 *   - A lease is taken from a dispatcher only when that one has stopped acting on it: a dispatcher that has had no answer
 *     to its heartbeat for `abortAfterMs` aborts its attempts, and `silentMs` here is longer than that.
 *   - Nothing within `startGraceMs` of the database's own start: while it was down nobody's heartbeat was heard, and leases
 *     ended whose attempts were made. Those settles are waiting to be sent again, and come first.
 *   - Each reclaimed lease is logged as lease_lost and uses up a step of the schedule, so that a delivery that kills its
 *     dispatcher ends.
 *   - It says nothing of the endpoint's health: the breaker hears nothing of it. That a delivery ended is told, in the same
 *     transaction.
 *   - The row gets a new ticket: what the old holder settles later matches nothing.
 *   - Where it ends a head, the next of its key goes, in the same transaction: see order-release.ts.
 *   - `low` is a ticket below which no row is leased: see upkeep-lookout.ts. It spares the scan the index's dead entries.
 */
export const lostLease = (silentMs: string, startGraceMs: string): string => `
    pg_postmaster_start_time() < now() - ${startGraceMs}::integer * interval '1 millisecond'
    and (d.lease_expires_at < now()
      or d.dispatcher_id <> all (array(
        select x.id from posthorn.dispatcher x where x.heartbeat_at >= now() - ${silentMs}::integer * interval '1 millisecond')))`

const reclaimLeases = `
with lost as materialized (
  select d.ctid as at, d.event_id, d.endpoint_id, d.attempts, l.tenant_id, l.status >= 2 as closed,
    case l.status when 2 then 'endpoint_disabled' when 3 then 'endpoint_deleted' else 'exhausted' end as reason,
    d.lease_expires_at - (l.timeout_ms + $3::integer) * interval '1 millisecond' as leased_at,
    d.step + 1 > coalesce(jsonb_array_length(e.retry_schedule), $4::integer) as used_up
  from posthorn.delivery d
  join posthorn.lane l on l.endpoint_id = d.endpoint_id
  join posthorn.endpoint e on e.id = d.endpoint_id
  where d.state = 1 and d.ticket >= $1::bigint and ${lostLease('$2', '$6')}
  order by d.event_id, d.endpoint_id
  limit $5
  for update of d skip locked
), ended as (
  delete from posthorn.delivery d using lost
  where d.ctid = lost.at and lost.used_up
  returning d.endpoint_id, d.head, d.order_key, d.place
), back as (
  update posthorn.delivery d
  set state = 0, ticket = nextval('posthorn.ticket'), step = d.step + 1, due_at = now(), lease_expires_at = null,
    dispatcher_id = null
  from lost
  where d.ctid = lost.at and not lost.used_up
), logged as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
  select lost.event_id, lost.endpoint_id, posthorn.uuid_v7(clock_timestamp()), lost.attempts, 3,
    case when not lost.used_up then 0 when lost.closed then 6 else 5 end, case when lost.used_up then lost.reason end,
    lost.leased_at, now()
  from lost
), told as materialized (
  select posthorn.publish_operational_many(h.types, h.data) as lanes
  from (
    select array_agg('delivery.exhausted'::text) as types, array_agg(jsonb_build_object(
      'tenant_id', lost.tenant_id, 'endpoint_id', posthorn.type_id('ep', lost.endpoint_id),
      'event_id', posthorn.type_id('evt', lost.event_id), 'reason', 'exhausted')) as data
    from lost where lost.used_up and not lost.closed
  ) h
  where h.types is not null
)
select lost.event_id, lost.endpoint_id, lost.used_up, null::bigint as order_key, null::bigint as place from lost
union all
select null, u.lane, false, null, null from told, unnest(told.lanes) u(lane)
union all
select null, h.endpoint_id, true, h.order_key, h.place from ended h where h.head and h.order_key is not null`

export type ReclaimOptions = {
  low: bigint
  /** A dispatcher silent for this long has lost its leases. */
  silentMs: number
  graceMs: number
  /** Entries of the default retry schedule, for endpoints without their own. */
  defaultSteps: number
  limit: number
  /** How long after the database's start nothing is taken back. Longer than `silentMs`, and than a settle is away. */
  startGraceMs: number
}

type ReclaimedRow = {
  event_id: string | null
  endpoint_id: string
  used_up: boolean
  order_key: string | null
  place: string | null
}

/**
 * @returns the deliveries taken back, with whether they ended by it; and the lanes that have new work: operational events,
 *   and the next of an ordering key
 */
export async function reclaimDeliveries(
  pool: Pool,
  options: ReclaimOptions,
): Promise<{ taken: { eventId: string; endpointId: string; usedUp: boolean }[]; rung: string[] }> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<ReclaimedRow>({
      name: 'reclaim-leases',
      text: reclaimLeases,
      values: [
        options.low.toString(),
        options.silentMs,
        options.graceMs,
        options.defaultSteps,
        options.limit,
        options.startGraceMs,
      ],
    })
    const taken = rows.flatMap((row) =>
      row.event_id === null ? [] : [{ eventId: row.event_id, endpointId: row.endpoint_id, usedUp: row.used_up }],
    )
    const told = rows.filter((row) => row.event_id === null && row.order_key === null).map((row) => row.endpoint_id)
    const ended = endedHeads(rows)
    const released = ended.length > 0 ? await releaseNext(client, ended) : []
    return { taken, rung: [...told, ...released] }
  })
}

// Unsent leases at shutdown: as if they had never been claimed. The attempt's number goes back with it, for no request was
// made. By key and ticket alone, as a settle: with the state added, stale statistics walk the index of all leases.
const giveBack = `
with mine as materialized (
  select d.at
  from (
    select u.event_id, u.endpoint_id, u.ticket
    from unnest($1::uuid[], $2::uuid[], $3::bigint[]) as u(event_id, endpoint_id, ticket)
    order by u.event_id, u.endpoint_id
  ) r
  cross join lateral (
    select x.ctid as at from posthorn.delivery x
    where x.event_id = r.event_id and x.endpoint_id = r.endpoint_id and x.ticket = r.ticket
    limit 1
    for update
  ) d
)
update posthorn.delivery d
set state = 0, ticket = nextval('posthorn.ticket'), attempts = d.attempts - 1, lease_expires_at = null, dispatcher_id = null
from mine
where d.ctid = mine.at`

/** Returns leases that were never acted on: neither logged nor counted. @returns how many were still ours */
export async function giveBackDeliveries(
  db: Queryable,
  leases: readonly { eventId: string; endpointId: string; ticket: string }[],
): Promise<number> {
  const { rowCount } = await db.query(giveBack, [
    leases.map((lease) => lease.eventId),
    leases.map((lease) => lease.endpointId),
    leases.map((lease) => lease.ticket),
  ])
  return rowCount ?? 0
}
