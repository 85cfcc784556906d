import { eventsWithClaim } from './send-read.ts'

/**
 * Claim: ready -> leased.
 *
 * Invariants
 *   - A lane's leased rows never exceed its max_in_flight, over all dispatchers. The lane's row is locked while they are
 *     counted and added to, and no other statement makes a leased row. The count stands in a second statement, so that its
 *     snapshot has what the lock's previous holder committed: in one statement the cap was exceeded 391 times.
 *   - A lane that is not enabled, or blocked, gives nothing: its status is read from the locked row.
 *   - A lane whose breaker is open or half open has at most one lease, the probe, over all dispatchers; one that recovers has
 *     at most its ramp_cap. Both lower the cap, and so are as exact as it is.
 *   - A limited lane gives as many as its bucket has tokens, and the tokens are taken in the statement that leases: see
 *     rate/bucket.ts. Lanes without a limit are not written.
 *   - The oldest tickets first. A row that somebody else has locked (a cancel) is passed over, not waited for.
 *   - No more than `limit` rows, however many lanes: `due` is materialized and limited before anything is updated.
 *   - The lanes are served in the order asked. In any other, a limit that is reached each time would starve the same ones.
 *   - The rows that were locked are found again by their place (planner-guards.ts), which the lock keeps.
 *   - Each lease has a new ticket, drawn after the transaction's id.
 *   - The events of what is leased come with it, each once, and the payloads that are small, while they are so together: it saves a
 *     dispatcher one round trip of three. Of what is large, the lanes' locks would be held for too long.
 */
export const lockLanes = `
select l.endpoint_id, l.ordering, l.reordering, l.rewound, l.version, l.timeout_ms, l.probing,
  case when l.probing then 1 else least(l.max_in_flight, coalesce(l.ramp_cap, l.max_in_flight)) end as max_in_flight,
  l.probing or l.failures_in_a_row > 0 or l.window_started_at is not null or l.failing_since is not null
    or l.ramp_cap is not null as watched,
  l.rate_interval_us::float8 as interval_us, l.rate_burst,
  case when l.rate_interval_us is not null
    then coalesce(extract(epoch from greatest(l.rate_next, now()) - now()) * 1000000, 0)::float8 end as ahead_us
from posthorn.lane l
where l.endpoint_id = any($1::uuid[])
  and l.status = 0
  and (l.blocked_until is null or l.blocked_until <= now())
for no key update skip locked`

export const leaseReady = `
with lane as materialized (
  select l.endpoint_id, l.timeout_ms, l.ready_from, l.want, l.max_in_flight - held.n as room, held.lowest, l.interval_us
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[], $10::float8[])
    as l(endpoint_id, max_in_flight, timeout_ms, ready_from, leased_from, want, interval_us)
  cross join lateral (
    select count(*)::integer as n, min(d.ticket) as lowest
    from posthorn.delivery d
    where d.state = 1 and d.endpoint_id = l.endpoint_id and d.ticket >= l.leased_from
  ) held
), due as materialized (
  select d.at, d.ticket, lane.timeout_ms, lane.interval_us
  from lane
  cross join lateral (
    select r.ctid as at, r.ticket
    from posthorn.delivery r
    where r.state = 0 and r.endpoint_id = lane.endpoint_id and r.ticket >= lane.ready_from
    order by r.ticket
    limit greatest(least(lane.room, lane.want), 0)
    for update skip locked
  ) d
  where lane.room > 0
  limit $7
), leased as (
  update posthorn.delivery d
  set state = 1,
      ticket = nextval('posthorn.ticket'),
      lease_expires_at = now() + (due.timeout_ms + $8::integer) * interval '1 millisecond',
      dispatcher_id = $9::integer,
      attempts = d.attempts + 1
  from due
  where d.ctid = due.at
  returning d.event_id, d.endpoint_id, d.ticket, due.ticket as ready_ticket, d.attempts, d.step, d.fresh,
    due.interval_us, (extract(epoch from now() - d.owed_at) * 1000)::bigint as age_ms
), spent as (
  -- For each limited lane that gave something; none, and nothing is read, where no lane is limited.
  update posthorn.lane l
  set rate_next = greatest(l.rate_next, now()) + t.us * interval '1 microsecond'
  from (
    select leased.endpoint_id, sum(leased.interval_us) as us
    from leased where leased.interval_us is not null
    group by leased.endpoint_id
  ) t
  where l.endpoint_id = t.endpoint_id
)
-- The lanes first, then the leases, then the events. Joined, each lane would walk all leases: a third of the claim's time.
select lane.endpoint_id, lane.room, lane.lowest, null::uuid as event_id, null::bigint as ticket, null::bigint as ready_ticket,
  null::integer as attempts, null::smallint as step, null::boolean as fresh, null::bigint as age_ms, null::text as type,
  null::integer as bytes, null::text as payload
from lane
union all
select leased.endpoint_id, null, null, leased.event_id, leased.ticket, leased.ready_ticket, leased.attempts, leased.step,
  leased.fresh, leased.age_ms, null, null, null
from leased
union all
select null, null, null, event.id, null, null, null, null, null, null, event.type, event.bytes, event.payload
from (${eventsWithClaim('(select leased.event_id from leased where $11::bigint is not null) asked', '$11::bigint')}) event`
