import type { Pool } from '../db/pool.ts'
import { beginHot } from './planner-guards.ts'

/**
 * Settle: leased -> succeeded | failed | canceled (row deleted) | scheduled | ready.
 *
 * Invariants
 *   - A row is changed only where (event, endpoint, ticket) still match. A ticket is spent once, so a settle that comes
 *     late or twice changes nothing; its attempt is logged as superseded, unless the log has it already.
 *   - The attempt is logged in the statement that ends or moves the delivery: there is no end without its log, and no
 *     log without its end.
 *   - Rows are found by primary key and ticket alone. With the state added, stale statistics make the planner walk the
 *     leased index (50 us a row instead of 14), and the ticket fences already.
 *   - Rows are taken in the order of their keys, lanes before deliveries and in the order of theirs: unsorted, two
 *     settles deadlock.
 *   - A lane is blocked or closed only by an attempt whose lease still held.
 *   - At a disabled or deleted lane nothing is owed again: what would be scheduled ends as canceled.
 */
const settleLeases = `
with r as materialized (
  select y.i, y.e, y.p, y.t, y.id, y.n, y.o, y.step, y.fresh, y.wait_ms, y.started, y.ms, y.status, y.code, y.phase,
    y.message, y.url, y.sig, y.agent, y.names, y.headers, y.body, y.cut, y.lane_ms, y.gone,
    case when y.lane_status >= 2 then 6 else y.s end as s,
    case y.lane_status when 2 then 'endpoint_disabled' when 3 then 'endpoint_deleted' else y.reason end as reason
  from (
    select x.i, x.e, x.p, x.t, x.id, x.n, x.o, x.s, x.reason, x.step, x.fresh, x.wait_ms, x.started, x.ms, x.status,
      x.code, x.phase, x.message, x.url, x.sig, x.agent, x.names, x.headers, x.body, x.cut, x.lane_ms, x.gone,
      case when x.s < 4 then (select l.status from posthorn.lane l where l.endpoint_id = x.p) end as lane_status
    from json_to_recordset($1::json) as x(
      i integer, e uuid, p uuid, t bigint, id uuid, n integer, o smallint, s smallint, reason text, step smallint,
      fresh boolean, wait_ms bigint, started bigint, ms integer, status smallint, code text, phase text, message text,
      url text, sig text, agent text, names text, headers text, body text, cut boolean, lane_ms bigint, gone boolean)
  ) y
  order by y.e, y.p
), ended as (
  delete from posthorn.delivery d using r
  where d.event_id = r.e and d.endpoint_id = r.p and d.ticket = r.t and r.s >= 4
  returning r.i, r.e, r.p, r.id, r.n, r.o, r.s, r.reason, r.started, r.ms, r.status, r.code, r.phase, r.message, r.url,
    r.sig, r.agent, r.names, r.headers, r.body, r.cut, r.lane_ms, r.gone, null::timestamptz as due_at
), moved as (
  update posthorn.delivery d
  set state = r.s, ticket = nextval('posthorn.ticket'), due_at = now() + r.wait_ms * interval '1 millisecond',
    step = r.step, fresh = coalesce(r.fresh, false), lease_expires_at = null, dispatcher_id = null
  from r
  where d.event_id = r.e and d.endpoint_id = r.p and d.ticket = r.t and r.s < 4
  returning r.i, r.e, r.p, r.id, r.n, r.o, r.s, r.reason, r.started, r.ms, r.status, r.code, r.phase, r.message, r.url,
    r.sig, r.agent, r.names, r.headers, r.body, r.cut, r.lane_ms, r.gone, case when r.s = 2 then d.due_at end as due_at
), matched as materialized (
  select ended.i, ended.e, ended.p, ended.id, ended.n, ended.o, ended.s, ended.reason, ended.started, ended.ms,
    ended.status, ended.code, ended.phase, ended.message, ended.url, ended.sig, ended.agent, ended.names, ended.headers,
    ended.body, ended.cut, ended.lane_ms, ended.gone, ended.due_at from ended
  union all
  select moved.i, moved.e, moved.p, moved.id, moved.n, moved.o, moved.s, moved.reason, moved.started, moved.ms,
    moved.status, moved.code, moved.phase, moved.message, moved.url, moved.sig, moved.agent, moved.names, moved.headers,
    moved.body, moved.cut, moved.lane_ms, moved.gone, moved.due_at from moved
), late as materialized (
  -- not in, for it becomes a hashed look-up also where joins by hash are off
  select r.e, r.p, r.t, r.id, r.n, r.started, r.ms, r.status, r.code, r.phase, r.message, r.url, r.sig, r.agent,
    r.names, r.headers, r.body, r.cut
  from r where r.i not in (select matched.i from matched)
), logged as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at,
    next_attempt_at, duration_ms, status, error_code, error_phase, error_message, url, signature, user_agent, header_names,
    response_headers, response_body, truncated)
  select m.e, m.p, m.id, m.n, m.o, m.s, m.reason, to_timestamp(m.started / 1000.0), now(), m.due_at, m.ms, m.status,
    m.code, m.phase, m.message, m.url, m.sig, m.agent, string_to_array(m.names, ','), m.headers,
    decode(m.body, 'base64'), coalesce(m.cut, false)
  from matched m
  on conflict do nothing
), logged_late as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at, duration_ms, status,
    error_code, error_phase, error_message, url, signature, user_agent, header_names, response_headers, response_body,
    truncated)
  select late.e, late.p, late.id, late.n, 4, 0, to_timestamp(late.started / 1000.0), now(), late.ms, late.status,
    late.code, late.phase, late.message, late.url, late.sig, late.agent, string_to_array(late.names, ','), late.headers,
    decode(late.body, 'base64'), coalesce(late.cut, false)
  from late
  on conflict do nothing
  returning id
), blocked as (
  -- Retry-After holds the whole lane back, and is never shortened here. Not where it closes: of two updates of one row in
  -- one statement Postgres makes whichever comes first, and drops the other.
  update posthorn.lane l set blocked_until = greatest(l.blocked_until, now() + w.lane_ms * interval '1 millisecond')
  from (
    select m.p, max(m.lane_ms) as lane_ms from matched m where m.lane_ms > 0 or m.gone group by m.p
    having max(m.lane_ms) > 0 and bool_or(m.gone) is not true
  ) w
  where l.endpoint_id = w.p
), closed as (
  -- 410 Gone: the receiver asks for no more. The lane closes in this transaction; upkeep cancels what waits.
  update posthorn.lane l set status = 2, draining = true, version = l.version + 1
  from (select distinct m.p from matched m where m.gone) g
  where l.endpoint_id = g.p and l.status in (0, 1)
  returning l.endpoint_id, l.version
), told as (
  update posthorn.endpoint e
  set status = 'disabled', disabled_reason = 'gone', version = closed.version, updated_at = now()
  from closed where e.id = closed.endpoint_id
)
select late.e as event_id, late.p as endpoint_id, late.t as ticket
from late where late.id in (select logged_late.id from logged_late)`

const lockLanes = `
select endpoint_id from posthorn.lane where endpoint_id = any($1::uuid[]) order by endpoint_id for no key update`

/** The codes of `attempt.outcome`. */
export const outcomeCode = { none: 0, succeeded: 1, failed: 2, leaseLost: 3, superseded: 4 } as const

/** The codes of `attempt.state`, and of `delivery.state` where a row is kept. */
export const stateCode = { ready: 0, leased: 1, scheduled: 2, held: 3, succeeded: 4, failed: 5, canceled: 6 } as const

/** What became of one lease. Texts must hold no NUL and no lone surrogate: Postgres has no place for them. */
export type Settlement = {
  eventId: string
  endpointId: string
  ticket: string
  /** A UUIDv7 made once for the attempt: what is logged twice under it is one row. */
  attemptId: string
  number: number
  outcome: 0 | 1 | 2
  state: 0 | 2 | 4 | 5 | 6
  reason: string | null
  /** Position in the schedule from now on. */
  step: number
  /** The next attempt must go out on a new connection. */
  fresh: boolean
  /** Milliseconds until the next attempt; only for state 2. */
  waitMs: number
  startedAt: Date
  durationMs: number | null
  status: number | null
  error: { code: string; phase: string; message: string } | null
  url: string | null
  signature: string | null
  userAgent: string | null
  headerNames: readonly string[]
  /** JSON text: an array of [name, value]. */
  responseHeaders: string | null
  responseBody: Buffer | null
  truncated: boolean
  /** Milliseconds for which the whole lane is to wait (Retry-After); 0 for none. */
  laneWaitMs: number
  /** The receiver answered 410. */
  gone: boolean
}

export type SettleResult = {
  /** Leases that were no longer ours: nothing of them was changed. What the log had already (a settle sent again) is not. */
  superseded: { eventId: string; endpointId: string; ticket: string }[]
}

function toRecord(item: Settlement, index: number): Record<string, unknown> {
  return {
    i: index,
    e: item.eventId,
    p: item.endpointId,
    t: item.ticket,
    id: item.attemptId,
    n: item.number,
    o: item.outcome,
    s: item.state,
    reason: item.reason ?? undefined,
    step: item.step,
    fresh: item.fresh || undefined,
    wait_ms: Math.round(item.waitMs),
    started: item.startedAt.getTime(),
    ms: item.durationMs === null ? undefined : Math.round(item.durationMs),
    status: item.status ?? undefined,
    code: item.error?.code,
    phase: item.error?.phase,
    message: item.error?.message,
    url: item.url ?? undefined,
    sig: item.signature ?? undefined,
    agent: item.userAgent ?? undefined,
    names: item.headerNames.length > 0 ? item.headerNames.join(',') : undefined,
    headers: item.responseHeaders ?? undefined,
    body: item.responseBody?.length ? item.responseBody.toString('base64') : undefined,
    cut: item.truncated || undefined,
    lane_ms: item.laneWaitMs > 0 ? Math.round(item.laneWaitMs) : undefined,
    gone: item.gone || undefined,
  }
}

/**
 * Settles many leases in one statement and one round trip. Sending the same settlements again is harmless, so a settle
 * whose answer was lost is simply repeated.
 */
export async function settleDeliveries(pool: Pool, items: readonly Settlement[]): Promise<SettleResult> {
  const lanes = [...new Set(items.filter((item) => item.gone || item.laneWaitMs > 0).map((item) => item.endpointId))]
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const statements: Promise<unknown>[] = [client.query(beginHot)]
    if (lanes.length > 0) statements.push(client.query(lockLanes, [lanes]))
    const settled = client.query<{ event_id: string; endpoint_id: string; ticket: string }>({
      name: 'settle-leases',
      text: settleLeases,
      values: [JSON.stringify(items.map(toRecord))],
    })
    statements.push(settled)
    statements.push(client.query('commit'))
    await settleAll(statements)
    const { rows } = await settled
    return {
      superseded: rows.map((row) => ({ eventId: row.event_id, endpointId: row.endpoint_id, ticket: row.ticket })),
    }
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

/** Waits for all of a pipeline, then throws its first fault: the later ones only say that the transaction is aborted. */
async function settleAll(statements: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(statements)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
