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
  select x.e, x.p, x.t, x.id, x.n, x.o, x.step, x.fresh, x.wait_ms, x.started, x.ms, x.status,
    x.code, x.phase, x.message, x.url, x.sig, x.agent, x.names, x.headers, x.body, x.cut, x.lane_ms, x.gone,
    case when x.s < 4 and l.status >= 2 then 6 else x.s end as s,
    case when x.s < 4 and l.status = 2 then 'endpoint_disabled' when x.s < 4 and l.status = 3 then 'endpoint_deleted'
      else x.reason end as reason
  from json_to_recordset($1::json) as x(
    e uuid, p uuid, t bigint, id uuid, n integer, o smallint, s smallint, reason text, step smallint, fresh boolean,
    wait_ms bigint, started bigint, ms integer, status smallint, code text, phase text, message text,
    url text, sig text, agent text, names json, headers text, body text, cut boolean, lane_ms bigint, gone boolean)
  left join posthorn.lane l on x.s < 4 and l.endpoint_id = x.p
  order by x.e, x.p
), ended as (
  delete from posthorn.delivery d using r
  where d.event_id = r.e and d.endpoint_id = r.p and d.ticket = r.t and r.s >= 4
  returning d.event_id, d.endpoint_id, null::timestamptz as due_at
), moved as (
  update posthorn.delivery d
  set state = r.s, ticket = nextval('posthorn.ticket'), due_at = now() + r.wait_ms * interval '1 millisecond',
    step = r.step, fresh = coalesce(r.fresh, false), lease_expires_at = null, dispatcher_id = null
  from r
  where d.event_id = r.e and d.endpoint_id = r.p and d.ticket = r.t and r.s < 4
  returning d.event_id, d.endpoint_id, case when d.state = 2 then d.due_at end as due_at
), matched as materialized (
  select event_id, endpoint_id, due_at from ended union all select event_id, endpoint_id, due_at from moved
), logged as (
  insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at,
    next_attempt_at, duration_ms, status, error_code, error_phase, error_message, url, signature, user_agent, header_names,
    response_headers, response_body, truncated)
  select r.e, r.p, r.id, r.n,
    case when m.event_id is null then 4 else r.o end,
    case when m.event_id is null then 0 else r.s end,
    case when m.event_id is not null then r.reason end,
    to_timestamp(r.started / 1000.0), now(), m.due_at, r.ms, r.status, r.code, r.phase, r.message,
    r.url, r.sig, r.agent, (select array_agg(name) from json_array_elements_text(r.names) name),
    r.headers, decode(r.body, 'base64'), coalesce(r.cut, false)
  from r left join matched m on m.event_id = r.e and m.endpoint_id = r.p
  on conflict do nothing
), blocked as (
  -- Retry-After holds the whole lane back, and is never shortened here.
  update posthorn.lane l set blocked_until = greatest(l.blocked_until, now() + w.lane_ms * interval '1 millisecond')
  from (
    select r.p, max(r.lane_ms) as lane_ms from r join matched m on m.event_id = r.e and m.endpoint_id = r.p
    where r.lane_ms > 0 group by r.p
  ) w
  where l.endpoint_id = w.p
), closed as (
  -- 410 Gone: the receiver asks for no more. The lane closes in this transaction; upkeep cancels what waits.
  update posthorn.lane l set status = 2, draining = true, version = l.version + 1
  from (select distinct r.p from r join matched m on m.event_id = r.e and m.endpoint_id = r.p where r.gone) g
  where l.endpoint_id = g.p and l.status in (0, 1)
  returning l.endpoint_id, l.version
), told as (
  update posthorn.endpoint e
  set status = 'disabled', disabled_reason = 'gone', version = closed.version, updated_at = now()
  from closed where e.id = closed.endpoint_id
)
select r.e as event_id, r.p as endpoint_id, r.t as ticket from r
where not exists (select from matched m where m.event_id = r.e and m.endpoint_id = r.p)`

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
  /** Leases that were no longer ours: nothing of them was changed. */
  superseded: { eventId: string; endpointId: string; ticket: string }[]
}

function toRecord(item: Settlement): Record<string, unknown> {
  return {
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
    names: item.headerNames.length > 0 ? item.headerNames : undefined,
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
