import { eventsWithClaim } from './send-read.ts'

/**
 * Claim at ordered lanes: ready -> leased | held.
 *
 * Invariants, beside those of delivery-claim-statements.ts
 *   - The lane is locked before this statement begins, so that its snapshot has all that others did to its order: nothing of
 *     an ordered lane is leased, held or released, and no head of it ends, without that lock.
 *   - `ready_from` is a safe watermark: no ready row is below it, and none will be. From a fast one a slow transaction's
 *     event would be overtaken by those published after its answer.
 *   - Strict ($2): one lease at a time ($3 is 1). What has been leased before and has not ended, a head, goes first; while
 *     it waits for its retry nothing else does. Otherwise the lowest ticket goes. Nothing is ever held.
 *   - By key: of each key one delivery at a time, its head. The first of a key without a head becomes the head; those
 *     behind it are held, in the order of their tickets, under new ones: a delivery that is held later, stands later. So a
 *     row whose publish was answered before another was called is seen by every claim that sees the other, and before it.
 *   - Heads, and deliveries without a key, go as they come.
 *   - Rows are taken from the front, and up to the first that may not be leased for want of room: whatever is held has its
 *     head before it.
 *   - No row is locked first, nor passed over because somebody else holds it: who changes ready rows of ordered lanes has
 *     locked the lane.
 *   - A key is busy when it is that of a lease (the lane's leases are counted anyway), or has a head that waits.
 */
export const leaseOrdered = `
with counted as materialized (
  select l.nth, l.endpoint_id, l.strict, l.timeout_ms, l.ready_from, l.interval_us, leases.lowest, leases.keys,
    l.max_in_flight - leases.n as room, greatest(least(l.max_in_flight - leases.n, l.want), 0) as most
  from unnest($1::uuid[], $2::boolean[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::integer[],
    $8::float8[]) with ordinality as l(endpoint_id, strict, max_in_flight, timeout_ms, ready_from, leased_from, want, interval_us, nth)
  cross join lateral (
    select count(*)::integer as n, min(d.ticket) as lowest,
      coalesce(array_agg(d.order_key) filter (where d.order_key is not null), '{}') as keys
    from posthorn.delivery d
    where d.state = 1 and d.endpoint_id = l.endpoint_id and d.ticket >= l.leased_from
  ) leases
), lane as materialized (
  -- At a strict lane, the head that waits: one that is ready before others, of which there are some after a change by key.
  select c.nth, c.endpoint_id, c.strict, c.timeout_ms, c.ready_from, c.interval_us, c.lowest, c.keys, c.room, c.most,
    head.at as head_at, head.ticket as head_ticket, coalesce(head.state = 2, false) as stuck,
    case when head.at is not null then 0 when c.strict then least(c.most, 1) when c.most > 0 then c.most + c.most / 8 + 16 else 0 end
      as look
  from counted c
  left join lateral (
    select h.at, h.ticket, h.state
    from (
      select d.ctid as at, d.ticket, d.state from posthorn.delivery d
      where d.endpoint_id = c.endpoint_id and d.head and d.state <> 1
      order by d.order_key, d.ticket
      limit case when c.strict and c.most > 0 then 1000 else 0 end
    ) h
    order by h.state, h.ticket limit 1
  ) head on true
), met as materialized (
  -- With what is needed of its lane: joined to it later, each row would walk all lanes.
  select lane.nth, lane.endpoint_id, lane.strict, lane.timeout_ms, lane.interval_us, lane.most, lane.head_at as at,
    lane.head_ticket as ticket, null::bigint as order_key, true as head, false as leased
  from lane
  where lane.head_at is not null and not lane.stuck
  union all
  select lane.nth, lane.endpoint_id, lane.strict, lane.timeout_ms, lane.interval_us, lane.most, r.at, r.ticket, r.order_key,
    r.head, r.order_key = any(lane.keys)
  from lane
  cross join lateral (
    select d.ctid as at, d.ticket, d.order_key, d.head from posthorn.delivery d
    where d.state = 0 and d.endpoint_id = lane.endpoint_id and d.ticket >= lane.ready_from
    order by d.ticket
    limit lane.look
  ) r
), judged as materialized (
  -- By itself, or each use of it would look for the head once more.
  select m.nth, m.endpoint_id, m.strict, m.timeout_ms, m.interval_us, m.most, m.at, m.ticket,
    case
      when m.head or m.order_key is null or m.strict then true
      when m.of_key > 1 or m.leased then false
      else (
        select true from posthorn.delivery h
        where h.endpoint_id = m.endpoint_id and h.order_key = m.order_key and h.head and h.state <> 1
        order by h.ticket desc limit 1) is null
    end as free
  from (
    select met.nth, met.endpoint_id, met.strict, met.timeout_ms, met.interval_us, met.most, met.at, met.ticket,
      met.order_key, met.head, met.leased,
      row_number() over (partition by met.nth, met.order_key order by met.head desc, met.ticket) as of_key
    from met
  ) m
), taken as materialized (
  -- In the order of their tickets, and so are those that they get.
  select j.nth, j.endpoint_id, j.strict, j.timeout_ms, j.interval_us, j.at, j.ticket, j.free,
    nextval('posthorn.ticket') as next_ticket
  from (
    select x.nth, x.endpoint_id, x.strict, x.timeout_ms, x.interval_us, x.at, x.ticket, x.free
    from (
      select judged.nth, judged.endpoint_id, judged.strict, judged.timeout_ms, judged.interval_us, judged.most, judged.at,
        judged.ticket, judged.free,
        count(*) filter (where judged.free) over (partition by judged.nth order by judged.ticket) as free_of_lane,
        count(*) filter (where judged.free) over (order by judged.nth, judged.ticket) as free_of_all
      from judged
    ) x
    where x.free_of_lane <= x.most and x.free_of_all <= $9
    order by x.nth, x.ticket
  ) j
), changed as (
  update posthorn.delivery d
  set state = case when t.free then 1 else 3 end,
      ticket = t.next_ticket,
      place = case when t.strict or d.order_key is not null then coalesce(d.place, d.ticket) end,
      head = t.free and (t.strict or d.order_key is not null),
      lease_expires_at = case when t.free then now() + (t.timeout_ms + $10::integer) * interval '1 millisecond' end,
      dispatcher_id = case when t.free then $11::integer end,
      attempts = d.attempts + t.free::integer
  from taken t
  where d.ctid = t.at
  returning t.nth, t.free, t.interval_us, d.endpoint_id, d.event_id, d.ticket, d.attempts, d.step, d.fresh,
    d.order_key is not null as keyed, (extract(epoch from now() - d.owed_at) * 1000)::bigint as age_ms
), spent as (
  update posthorn.lane l
  set rate_next = greatest(l.rate_next, now()) + t.us * interval '1 microsecond'
  from (
    select changed.endpoint_id, sum(changed.interval_us) as us
    from changed where changed.free and changed.interval_us is not null
    group by changed.endpoint_id
  ) t
  where l.endpoint_id = t.endpoint_id
), sums as materialized (
  select s.nth, max(s.met) as met, max(s.taken) as taken, max(s.last) as last
  from (
    select met.nth, count(*)::integer as met, 0 as taken, null::bigint as last from met group by met.nth
    union all
    select taken.nth, 0, count(*)::integer, max(taken.ticket) from taken group by taken.nth
  ) s
  group by s.nth
)
-- The lanes first, then the leases, then the events. Joined, each lane would walk all leases.
select lane.nth, lane.room, lane.lowest, lane.most, lane.look, lane.stuck, coalesce(sums.met, 0) as met,
  coalesce(sums.taken, 0) as taken, case when lane.head_at is null then sums.last end as last,
  null::uuid as event_id, null::bigint as ticket, null::integer as attempts, null::smallint as step, null::boolean as fresh,
  null::boolean as keyed, null::bigint as age_ms, null::text as type, null::integer as bytes,
  null::text as payload
from lane left join sums on sums.nth = lane.nth
union all
select c.nth, null, null, null, null, null, null, null, null, c.event_id, c.ticket, c.attempts, c.step, c.fresh, c.keyed,
  c.age_ms, null, null, null
from changed c where c.free
union all
select null, null, null, null, null, null, null, null, null, event.id, null, null, null, null, null, null, event.type,
  event.bytes, event.payload
from (${eventsWithClaim('(select c.event_id from changed c where c.free and $12::bigint is not null) asked', '$12::bigint')}) event`
