import type { Queryable } from '@posthorn/core/db'
import type { Lease, Settlement } from '@posthorn/core/sql'
import { type Bench, owe, scheduled, settlementOf } from './claim-fixture.ts'

/** A lane's breaker and bucket, as they are now; times in milliseconds from now (negative: past). */
export type LaneState = {
  status: number
  draining: boolean
  failures_in_a_row: number
  window_attempts: number
  window_failures: number
  trips: number
  probing: boolean
  ramp_cap: number | null
  blocked_ms: number | null
  window_ms: number | null
  failing_ms: number | null
}

/** @param at a moment of the database's clock to count from; now unless given */
export async function laneState(db: Queryable, id: string, at: Date | null = null): Promise<LaneState> {
  const { rows } = await db.query<LaneState>(
    `select l.status, l.draining, l.failures_in_a_row, l.window_attempts, l.window_failures, l.breaker_trips as trips,
       l.probing, l.ramp_cap,
       (extract(epoch from l.blocked_until - t.now) * 1000)::float8 as blocked_ms,
       (extract(epoch from l.window_started_at - t.now) * 1000)::float8 as window_ms,
       (extract(epoch from l.failing_since - t.now) * 1000)::float8 as failing_ms
     from posthorn.lane l, lateral (select coalesce($2::timestamptz, clock_timestamp()) as now) t where l.endpoint_id = $1`,
    [id, at],
  )
  return rows[0]!
}

/** As if `ms` had passed for this lane. */
export async function age(db: Queryable, id: string, ms: number): Promise<void> {
  await db.query(
    `update posthorn.lane set blocked_until = blocked_until - $2 * interval '1 ms',
       window_started_at = window_started_at - $2 * interval '1 ms', failing_since = failing_since - $2 * interval '1 ms',
       rate_next = rate_next - $2 * interval '1 ms'
     where endpoint_id = $1`,
    [id, ms],
  )
}

/** Leases of new deliveries, whatever the lane allows: as those that were taken before it changed. */
export async function leaseAnyway(bench: Bench, lane: string, count: number): Promise<Lease[]> {
  const events = await owe(bench.pool, lane, count)
  const { rows } = await bench.pool.query<{ event_id: string; ticket: string }>(
    `update posthorn.delivery set state = 1, ticket = nextval('posthorn.ticket'), attempts = 1, dispatcher_id = $2,
       lease_expires_at = now() + interval '30 s'
     where event_id = any($1) returning event_id, ticket`,
    [events, bench.dispatcherId],
  )
  return rows.map((row) => ({
    eventId: row.event_id,
    endpointId: lane,
    ticket: row.ticket,
    number: 1,
    step: 0,
    fresh: false,
    ageMs: 0,
    version: 1,
    timeoutMs: 15_000,
    watched: true,
    probe: false,
    head: false,
    event: null,
    bytes: null,
  }))
}

/** What the lane hears of these leases' attempts. */
export const watchedOf = (lease: Lease) => ({ watched: lease.watched, probe: lease.probe })

/** A failure that counts against the lane, to be tried again in a minute. */
export const bad = (lease: Lease, rest: Partial<Settlement> = {}) =>
  settlementOf(lease, { ...scheduled, waitMs: 60_000, health: 'bad', ...watchedOf(lease), ...rest })

/** A success that the lane hears of. */
export const good = (lease: Lease) => settlementOf(lease, { health: 'good', ...watchedOf(lease) })

/** An endpoint of the tenant `posthorn` that takes operational events of all types. @returns its id */
export async function addOperator(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `with made as (
       insert into posthorn.endpoint (id, tenant_id, url) values (gen_random_uuid(), 'posthorn', 'http://127.0.0.1/') returning id
     )
     insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms) select made.id, 'posthorn', 20, 15000 from made
     returning endpoint_id as id`,
  )
  return rows[0]!.id
}

export type ToldEvent = { type: string; data: Record<string, unknown> }

/** What was published for the tenant `posthorn`, in order. */
export async function toldEvents(db: Queryable): Promise<ToldEvent[]> {
  const { rows } = await db.query<{ payload: string }>(
    `select convert_from(payload, 'UTF8') as payload from posthorn.event where tenant_id = 'posthorn' order by id`,
  )
  return rows.map((row) => {
    const { type, data } = JSON.parse(row.payload) as ToldEvent
    return { type, data }
  })
}
