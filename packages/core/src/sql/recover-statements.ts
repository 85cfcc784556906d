/**
 * Recover: ended or never owed -> ready (a new row), over a stretch of an endpoint's events.
 *
 * Invariants
 *   - Events are met in the order of their ids, which is that of publishing, and tickets are drawn in that order: recovered
 *     deliveries join the tail of their lane, and of their ordering keys, as redelivered ones do.
 *   - Failed and canceled is what ended so: the last of its attempts that was not superseded says it, and nothing is owed.
 *     Missed is what matches the endpoint's filter now, and has neither a row nor an attempt. All of it is read in one
 *     snapshot, in which a row that goes and its log are never both missing.
 *   - Whoever else owes an ended delivery again (redeliver, another recovery) is kept out by the lock of recover-lock.ts, taken
 *     in a statement before: so that nothing that was owed again and has ended meanwhile is taken for what it was before.
 *   - The event's id is kept, the attempts' numbers go on from the highest, the schedule is fresh, and the age is counted from
 *     now. What is to be delivered later still is.
 *   - The lane is read, not locked: claims lock it. What slips past a disabling is canceled by the sweep.
 *   - A statement reads at most `limit` rows of one day, and of payloads that a filter has to look into some 2 MiB: both bounds lie in one partition, and stand at each partitioned
 *     table, so that all others are left out before it begins.
 *
 * The transaction has its id before a ticket is drawn (planner-guards.ts), and has sorting off: the walks take the order of
 * the one index that has it, whatever the planner believes of the tables.
 *   $1 tenant · $2 endpoint · $3 lowest event · $4 first event past the end · $5 rows at most · $6 states (5, 6) wanted
 */
const lane = `
with lane as materialized (
  select l.endpoint_id, l.status from posthorn.lane l where l.endpoint_id = $2 and l.tenant_id = $1
)`

// Through the index of what ended without success. An event that did so twice is met twice.
const endedStretch = `${lane}, stretch as materialized (
  select a.event_id from posthorn.attempt a
  where a.endpoint_id >= $2 and a.endpoint_id <= $2 and a.event_id >= $3 and a.event_id < $4
    and a.state in (5, 6) and a.outcome <> 4
  order by a.endpoint_id, a.event_id
  limit $5
)`

const toOwe = `, candidate as materialized (
  select s.event_id, v.deliver_at, v.ordering_key, false as matches, null::bytea as payload
  from (select distinct x.event_id from stretch x) s
  cross join lateral (
    select e.deliver_at, e.ordering_key from posthorn.event e
    where e.id = s.event_id and e.id >= $3 and e.id < $4 and e.tenant_id = $1
    limit 1
  ) v
)`

// The lane says already that they are the tenant's.
const toCount = `, candidate as materialized (
  select s.event_id, null::timestamptz as deliver_at, null::text as ordering_key, l.endpoint_id is null as matches,
    null::bytea as payload
  from (select distinct x.event_id from stretch x) s cross join lane l
)`

// Through all of the tenant's events. The conditions are those of posthorn.publish_many; the payload is there when the filter
// has to look into it, and is read only where nothing else decides. Sums go over the rows as the walk gives them.
const missedStretch = `${lane}, filter as materialized (
  select p.event_types, p.channels, p.filter_path from posthorn.endpoint p where p.id = $2 and p.tenant_id = $1
), walked as materialized (
  select e.id as event_id, e.type, e.channels, e.deliver_at, e.ordering_key, e.only_to, e.payload
  from posthorn.event e
  where (e.tenant_id, e.id) >= ($1, $3::uuid) and (e.tenant_id, e.id) < ($1, $4::uuid) and e.id >= $3 and e.id < $4
  order by e.tenant_id, e.id
  limit $5
), weighed as materialized (
  select w.event_id, w.type, w.channels, w.deliver_at, w.ordering_key, w.only_to, w.payload,
    sum(octet_length(w.payload)) over (rows between unbounded preceding and 1 preceding) as bytes_before
  from walked w
), stretch as materialized (
  select w.event_id, w.type, w.channels, w.deliver_at, w.ordering_key, w.only_to, w.payload
  from weighed w
  where coalesce(w.bytes_before, 0) < 2097152 or not exists (select from filter f where f.filter_path is not null)
), candidate as materialized (
  select s.event_id, s.deliver_at, s.ordering_key,
    (f.event_types = '{}' or f.event_types && posthorn.event_type_patterns(s.type))
      and (f.channels = '{}' or f.channels && coalesce(s.channels, '{}'))
      and coalesce(s.only_to = $2, true) as matches,
    case when f.filter_path is not null then s.payload end as payload
  from stretch s cross join filter f
)`

const chosen = `, chosen as materialized (
  select c.event_id, c.deliver_at, c.ordering_key, coalesce(past.number, 0) as number, coalesce(ended.state, 0) as was
  from candidate c
  left join lateral (
    select true as owed from posthorn.delivery d where d.event_id = c.event_id and d.endpoint_id = $2 limit 1
  ) live on true
  left join lateral (
    select max(t.number) as number from posthorn.attempt t
    where t.event_id = c.event_id and t.endpoint_id = $2 and t.event_id >= $3 and t.event_id < $4
  ) past on true
  left join lateral (
    select t.state from posthorn.attempt t
    where t.event_id = c.event_id and t.endpoint_id = $2 and t.event_id >= $3 and t.event_id < $4 and t.outcome <> 4
    order by t.number desc, (t.outcome = 0) desc, t.id desc limit 1
  ) ended on true
  where live.owed is null and case
    when past.number is not null then ended.state = any($6::smallint[])
    when not c.matches or c.payload is null then c.matches
    else coalesce(posthorn.filter_document(c.payload) @@ (
      select p.filter_path from posthorn.endpoint p where p.id = $2 and p.tenant_id = $1), false)
  end
)`

const made = `, made as (
  insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, attempts, step, state, order_key)
  select c.event_id, l.endpoint_id, nextval('posthorn.ticket'), greatest(c.deliver_at, now()), greatest(c.deliver_at, now()),
    c.number, 0, case when c.deliver_at > now() then 2 else 0 end, posthorn.order_key(c.ordering_key)
  from chosen c cross join lane l
  where l.status < 2
  order by c.event_id
  on conflict do nothing
  returning event_id
)`

const answer = (owed: string, cut: string): string => `
select (select l.status from lane l) as "laneStatus",
  (select count(*) from stretch)::integer as "looked",
  (select s.event_id from stretch s order by s.event_id desc limit 1) as "last",
  ${cut} as "cut",
  count(*) filter (where c.was = 5)::integer as "failed",
  count(*) filter (where c.was = 6)::integer as "canceled",
  count(*) filter (where c.was = 0)::integer as "missed",
  ${owed} as "owed"
from chosen c`

const none = '0'
const all = '(select count(*) from made)::integer'

/** Whether the stretch ends before the rows that were walked do. */
const whole = 'false'
const byBytes = '(select count(*) from walked) > (select count(*) from stretch)'

/** Owes them again. `missed` walks all events of the tenant, `ended` what ended without success at the endpoint. */
export const owe = {
  ended: endedStretch + toOwe + chosen + made + answer(all, whole),
  missed: missedStretch + chosen + made + answer(all, byBytes),
}

/** Counts what the former would owe. */
export const count = {
  ended: endedStretch + toCount + chosen + answer(none, whole),
  missed: missedStretch + chosen + answer(none, byBytes),
}
