import { breakerLimits } from '../breaker/breaker.ts'

/**
 * Settle: leased -> succeeded | failed | canceled (row deleted) | scheduled | ready.
 *
 * Invariants
 *   - A row is changed only where (event, endpoint, ticket) still match. A ticket is spent once, so a settle that comes
 *     late or twice changes nothing; its attempt is logged as superseded, unless the log has it already.
 *   - The attempt is logged in the statement that ends or moves the delivery: there is no end without its log, and no
 *     log without its end. A ticket matches once, so the log cannot have such an attempt already; to look for it all the same
 *     (on conflict) would cost a fifth of the insert, and is left to those that come late.
 *   - Rows are found by primary key and ticket alone. With the state added, stale statistics make the planner walk the
 *     leased index (50 us a row instead of 14), and the ticket fences already. They are changed by their place, where the
 *     ticket is checked again: see planner-guards.ts.
 *   - Rows are taken in the order of their keys, lanes before deliveries and in the order of theirs: unsorted, two
 *     settles deadlock.
 *   - A lane hears only of attempts whose lease still held; and of success only where it may change something, so that a
 *     settle of healthy lanes reads and writes none.
 *   - The lanes that it hears are locked before this statement begins (delivery-settle.ts), so that it reads them as they are.
 *   - What the breaker decides is what breaker/breaker.ts decides. A lane that is closed stays as it is.
 *   - Operational events are published in the transaction that makes them true, and only by it.
 *   - At a disabled or deleted lane nothing is owed again: what has not succeeded ends as canceled.
 */
const columns = [
  ['i', 'integer'],
  ['e', 'uuid'],
  ['p', 'uuid'],
  ['t', 'bigint'],
  ['id', 'uuid'],
  ['n', 'integer'],
  ['o', 'smallint'],
  ['s', 'smallint'],
  ['reason', 'text'],
  ['step', 'smallint'],
  ['fresh', 'boolean'],
  ['wait_ms', 'bigint'],
  ['started', 'bigint'],
  ['ms', 'integer'],
  ['status', 'smallint'],
  ['code', 'text'],
  ['phase', 'text'],
  ['message', 'text'],
  ['url', 'text'],
  ['sig', 'text'],
  ['agent', 'text'],
  ['names', 'text'],
  ['headers', 'text'],
  ['body', 'bytea'],
  ['cut', 'boolean'],
  ['lane_ms', 'bigint'],
  ['gone', 'boolean'],
  ['c', 'smallint'],
  ['probe', 'boolean'],
] as const

/** What a batch has of each settlement: one parameter a column, an array, in this order. */
export type SettleColumn = (typeof columns)[number][0]
export const settleColumns: readonly SettleColumn[] = columns.map(([name]) => name)

// In the select list, and not as `unnest` of many: that would write each column out by itself before it puts them together.
const unnested = `select ${columns.map(([name, type], at) => `unnest($${at + 1}::${type}[]) as ${name}`).join(', ')}`
const disableAfter = `$${columns.length + 1}::bigint`

const leases = `
with r as materialized (
  select y.i, y.e, y.p, y.t, y.id, y.n, y.o, y.step, y.fresh, y.wait_ms, y.started, y.ms, y.status, y.code, y.phase,
    y.message, y.url, y.sig, y.agent, y.names, y.headers, y.body, y.cut, y.lane_ms, y.gone,
    y.c, y.probe, f.at,
    case when y.lane_status >= 2 then 6 else y.s end as s,
    case y.lane_status when 2 then 'endpoint_disabled' when 3 then 'endpoint_deleted' else y.reason end as reason
  from (
    select x.i, x.e, x.p, x.t, x.id, x.n, x.o, x.s, x.reason, x.step, x.fresh, x.wait_ms, x.started, x.ms, x.status,
      x.code, x.phase, x.message, x.url, x.sig, x.agent, x.names, x.headers, x.body, x.cut, x.lane_ms, x.gone,
      x.c, x.probe,
      case when x.s <> 4 then (select l.status from posthorn.lane l where l.endpoint_id = x.p) end as lane_status
    from (${unnested}) x
  ) y
  left join lateral (
    select d.ctid as at from posthorn.delivery d where d.event_id = y.e and d.endpoint_id = y.p and d.ticket = y.t limit 1
  ) f on true
  order by y.e, y.p
), ended as (
  delete from posthorn.delivery d using r
  where d.ctid = r.at and d.ticket = r.t and r.s >= 4
  returning r.i, d.endpoint_id, d.head, d.order_key, d.place
), moved as (
  update posthorn.delivery d
  set state = r.s, ticket = nextval('posthorn.ticket'), due_at = now() + r.wait_ms * interval '1 millisecond',
    step = r.step, fresh = coalesce(r.fresh, false), lease_expires_at = null, dispatcher_id = null
  from r
  where d.ctid = r.at and d.ticket = r.t and r.s < 4
  returning r.i
), known as materialized (
  -- As a column, and not as a condition, it is a hashed look-up, also where joins by hash are off.
  select r.i, r.e, r.p, r.t, r.id, r.n, r.o, r.s, r.reason, r.started, r.ms, r.status, r.code, r.phase, r.message, r.url,
    r.sig, r.agent, r.names, r.headers, r.body, r.cut, r.lane_ms, r.gone, r.c, r.probe,
    case when r.s = 2 then now() + r.wait_ms * interval '1 millisecond' end as due_at,
    r.i in (select x.i from (select ended.i from ended union all select moved.i from moved) x) as ours
  from r
), matched as (
  select k.e, k.p, k.id, k.n, k.o, k.s, k.reason, k.started, k.ms, k.status, k.code, k.phase, k.message, k.url, k.sig,
    k.agent, k.names, k.headers, k.body, k.cut, k.lane_ms, k.gone, k.c, k.probe, k.due_at
  from known k where k.ours
), late as (
  select k.e, k.p, k.t, k.id, k.n, k.started, k.ms, k.status, k.code, k.phase, k.message, k.url, k.sig, k.agent, k.names,
    k.headers, k.body, k.cut
  from known k where not k.ours
), logged as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at,
    next_attempt_at, duration_ms, status, error_code, error_phase, error_message, url, signature, user_agent, header_names,
    response_headers, response_body, truncated)
  select m.e, m.p, m.id, m.n, m.o, m.s, m.reason, to_timestamp(m.started / 1000.0), now(), m.due_at, m.ms, m.status,
    m.code, m.phase, m.message, m.url, m.sig, m.agent, string_to_array(m.names, ','), m.headers,
    m.body, coalesce(m.cut, false)
  from matched m
), logged_late as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at, duration_ms, status,
    error_code, error_phase, error_message, url, signature, user_agent, header_names, response_headers, response_body,
    truncated)
  select late.e, late.p, late.id, late.n, 4, 0, to_timestamp(late.started / 1000.0), now(), late.ms, late.status,
    late.code, late.phase, late.message, late.url, late.sig, late.agent, string_to_array(late.names, ','), late.headers,
    late.body, coalesce(late.cut, false)
  from late
  on conflict do nothing
  returning id
)`

// What a batch says to lanes and to operators. It costs a millisecond even where it finds nothing to say, so that a batch of
// which nobody has to hear is settled without it.
const lanes = `
tally as materialized (
  -- What the batch has of each lane that has to hear of it: the tally of breaker/breaker.ts.
  select x.p, coalesce(bool_or(x.gone), false) as gone, coalesce(max(x.lane_ms), 0) as lane_ms,
    count(*) filter (where x.c = 1)::integer as good, count(*) filter (where x.c = 2)::integer as bad,
    count(*) filter (where x.c = 2 and (x.last_good is null or x.ended > x.last_good))::integer as bad_since,
    coalesce(bool_or(x.c = 2 and x.probe), false) as probe_bad,
    coalesce(bool_or(x.c = 2 and x.status in (429, 502, 503, 504)), false) as throttled
  from (
    select m.p, m.c, m.gone, m.lane_ms, m.probe, m.status, m.started + coalesce(m.ms, 0) as ended,
      max(m.started + coalesce(m.ms, 0)) filter (where m.c = 1) over (partition by m.p) as last_good
    from matched m where m.c is not null or m.gone or m.lane_ms > 0
  ) x
  group by x.p
), counted as materialized (
  -- The breaker of each, with the batch counted. Read once more though it is locked: the lock's statement saw no tally.
  select t.p, t.gone, t.lane_ms, t.good, t.bad, t.probe_bad, t.throttled, l.tenant_id, l.max_in_flight, l.probing,
    l.breaker_trips, l.blocked_until, l.ramp_cap,
    l.probing and (l.blocked_until is null or l.blocked_until <= now()) as half_open,
    t.bad > 0 and t.good = 0 and coalesce(l.failing_since < now() - ${disableAfter} * interval '1 millisecond', false) as starved,
    case when t.good > 0 then t.bad_since else l.failures_in_a_row + t.bad end as in_a_row,
    case when t.good > 0 then case when t.bad_since > 0 then now() end
      when t.bad > 0 then coalesce(l.failing_since, now()) else l.failing_since end as failing_since,
    case when l.probing or l.running then l.window_started_at when t.bad > 0 then now() end as window_started_at,
    case when l.probing then l.window_attempts when l.running then l.window_attempts + t.good + t.bad
      when t.bad > 0 then t.good + t.bad else 0 end as window_attempts,
    case when l.probing then l.window_failures when l.running then l.window_failures + t.bad else t.bad end as window_failures
  from tally t
  cross join lateral (
    select x.tenant_id, x.max_in_flight, x.probing, x.breaker_trips, x.blocked_until, x.ramp_cap, x.failures_in_a_row,
      x.failing_since, x.window_started_at, x.window_attempts, x.window_failures,
      coalesce(x.window_started_at > now() - ${breakerLimits.windowMs} * interval '1 millisecond', false) as running
    from posthorn.lane x where x.endpoint_id = t.p and x.status in (0, 1) limit 1
  ) l
), judged as materialized (
  select c.p, c.gone, c.lane_ms, c.good, c.bad, c.throttled, c.tenant_id, c.max_in_flight, c.probing, c.blocked_until,
    c.ramp_cap, c.in_a_row, c.failing_since, c.window_started_at, c.window_attempts, c.window_failures,
    c.gone or c.starved as closes,
    not c.probing and c.bad > 0 and (c.in_a_row >= ${breakerLimits.failuresInARow}
      or (c.window_attempts >= ${breakerLimits.windowAttempts} and c.window_failures * 2 >= c.window_attempts)) as trips,
    c.half_open and c.probe_bad as reopens,
    c.half_open and not c.probe_bad and c.good > 0 as heals,
    least(${breakerLimits.longestBlockMs}, ${breakerLimits.firstBlockMs} * 2 ^ least(c.breaker_trips, 20)) * (0.8 + 0.4 * random())
      as block_ms
  from counted c
), reckoned as (
  -- One update for all that a settle has to say to a lane: of two of one row in one statement Postgres makes whichever
  -- comes first, and drops the other. A block is never shortened, but where the breaker closes.
  update posthorn.lane l
  set status = case when j.closes then 2 else l.status end,
    draining = l.draining or j.closes,
    version = l.version + j.closes::integer,
    failures_in_a_row = j.in_a_row,
    failing_since = j.failing_since,
    window_started_at = case when not (j.trips or j.heals) then j.window_started_at end,
    window_attempts = case when j.trips or j.heals then 0 else j.window_attempts end,
    window_failures = case when j.trips or j.heals then 0 else j.window_failures end,
    breaker_trips = case when j.heals then 0 else l.breaker_trips + (j.trips or j.reopens)::integer end,
    probing = j.trips or (l.probing and not j.heals),
    blocked_until = greatest(
      case when not j.heals then l.blocked_until end,
      case when j.trips or j.reopens then now() + j.block_ms * interval '1 millisecond' end,
      case when j.lane_ms > 0 then now() + j.lane_ms * interval '1 millisecond' end),
    ramp_cap = case
      when j.heals then case when j.max_in_flight > ${breakerLimits.firstRampCap} then ${breakerLimits.firstRampCap} end
      when j.probing or j.trips then j.ramp_cap
      when j.throttled then greatest(1, least(coalesce(j.ramp_cap, j.max_in_flight), j.max_in_flight) / 2)
      when j.good = 0 or j.bad > 0 then j.ramp_cap
      when j.ramp_cap * 2 < j.max_in_flight then j.ramp_cap * 2
    end
  from judged j
  where l.endpoint_id = j.p
  returning l.endpoint_id, l.version, l.blocked_until, j.closes, j.gone
), closed as (
  -- 410, or nothing but failures for days: the receiver wants no more. Upkeep cancels what waits.
  update posthorn.endpoint e
  set status = 'disabled', disabled_reason = case when k.gone then 'gone' else 'failing' end, version = k.version,
    updated_at = now()
  from reckoned k where e.id = k.endpoint_id and k.closes
), happened as materialized (
  select case when j.closes then 'endpoint.disabled' when j.trips then 'endpoint.failing' else 'endpoint.healthy' end as type,
    jsonb_build_object('tenant_id', j.tenant_id, 'endpoint_id', posthorn.type_id('ep', j.p),
      'uid', (select e.uid from posthorn.endpoint e where e.id = j.p))
      || case when j.closes then jsonb_build_object('reason', case when j.gone then 'gone' else 'failing' end)
              when j.trips then jsonb_build_object('failures_in_a_row', j.in_a_row) else '{}' end as data
  from judged j where j.closes or j.trips or j.heals
  union all
  select 'delivery.exhausted', jsonb_build_object(
    'tenant_id', (select l.tenant_id from posthorn.lane l where l.endpoint_id = m.p),
    'endpoint_id', posthorn.type_id('ep', m.p), 'event_id', posthorn.type_id('evt', m.e), 'reason', m.reason)
  from matched m where m.s = 5 and m.reason = 'exhausted'
), told as materialized (
  -- In one call, and only where there is something to tell.
  select posthorn.publish_operational_many(h.types, h.data) as lanes
  from (select array_agg(happened.type) as types, array_agg(happened.data) as data from happened) h
  where h.types is not null
)`

const superseded = `
select late.e as event_id, late.p as endpoint_id, late.t as ticket, null::bigint as blocked_ms
from late where late.id in (select logged_late.id from logged_late)`

const told = `${superseded}
union all
select null, k.endpoint_id, null, ceil(extract(epoch from k.blocked_until - now()) * 1000)::bigint
from reckoned k where k.blocked_until > now() and not k.closes
union all
select null, u.lane, null, null from told, unnest(told.lanes) u(lane)`

// The heads that a batch of ordered deliveries has ended: see order-release.ts.
const withEndedHeads = (statement: string): string => `
select s.event_id, s.endpoint_id, s.ticket, s.blocked_ms, null::bigint as order_key, null::bigint as place from (${statement}) s
union all
select null, h.endpoint_id, null, null, h.order_key, h.place from ended h where h.head and h.order_key is not null`

/** For a batch that says nothing to any lane, and ends no delivery as exhausted. Parameters: `settleColumns`. */
export const settleLeases = `${leases}${superseded}`
export const settleOrdered = `${leases}${withEndedHeads(superseded)}`

/** For any batch. Parameters: `settleColumns`, and after how many milliseconds without a success a failure disables an endpoint. */
export const settleAndTell = `${leases},${lanes}${told}`
export const settleOrderedAndTell = `${leases},${lanes}${withEndedHeads(told)}`
