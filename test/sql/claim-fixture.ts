import { randomUUID } from 'node:crypto'
import { uuidV7 } from '@posthorn/core'
import { createPool, type Pool, type Queryable } from '@posthorn/core/db'
import {
  claimDeliveries,
  type Lease,
  outcomeCode,
  registerDispatcher,
  type Settlement,
  settleDeliveries,
  stateCode,
} from '@posthorn/core/sql'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

export type Bench = {
  database: TestDatabase
  pool: Pool
  /** A registered dispatcher, whose heartbeat is that of its registration. */
  dispatcherId: number
  /** Another pool on the same database, closed with the bench. */
  poolOf(max: number, statementTimeoutMs?: number): Pool
  close(): Promise<void>
}

/**
 * A bench for the whole file: open from the first of its hooks to the last of its tests. To be called before the file's
 * own hooks are.
 */
export function useBench(max = 10): Bench {
  const bench = {} as Bench
  beforeAll(async () => {
    Object.assign(bench, await openBench(max))
  })
  // Nothing to close where it did not open.
  afterAll(() => bench.close?.())
  return bench
}

/** As `useBench`, but new for each test. */
export function useBenchForEach(max = 10): Bench {
  const bench = {} as Bench
  beforeEach(async () => {
    Object.assign(bench, await openBench(max))
  })
  afterEach(() => bench.close?.())
  return bench
}

/** A database of the file's own, as a dispatcher sees it. */
async function openBench(max = 10): Promise<Bench> {
  const database = await createTestDatabase()
  const pools: Pool[] = []
  const poolOf = (most: number, statementTimeoutMs = 30_000): Pool => {
    const made = createPool({
      connectionString: database.url,
      max: most,
      applicationName: 'test',
      statementTimeoutMs,
      onError: () => {},
    })
    pools.push(made)
    return made
  }
  const pool = poolOf(max)
  return {
    database,
    pool,
    dispatcherId: await registerDispatcher(pool, 'test', process.pid, '0'),
    poolOf,
    async close() {
      await Promise.all(pools.map((each) => each.end()))
      await database.drop()
    },
  }
}

export type LaneOptions = {
  maxInFlight?: number
  timeoutMs?: number
  /** Codes of `lane.status`. */
  status?: 0 | 1 | 2 | 3
  draining?: boolean
  retrySchedule?: number[]
  ordering?: 'none' | 'strict' | 'by_key'
}

const statusNames = ['enabled', 'paused', 'disabled', 'disabled'] as const

/** An endpoint of a tenant of its own, with its lane. @returns its id */
export async function addLane(db: Queryable, options: LaneOptions = {}): Promise<string> {
  const id = randomUUID()
  await db.query(
    `insert into posthorn.endpoint (id, tenant_id, url, status, retry_schedule, ordering)
     values ($1, $1::uuid::text, 'http://127.0.0.1/', $2, $3, $4)`,
    [
      id,
      statusNames[options.status ?? 0],
      options.retrySchedule ? JSON.stringify(options.retrySchedule) : null,
      options.ordering ?? 'none',
    ],
  )
  await db.query(
    `insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms, status, draining, ordering)
     values ($1, $1::uuid::text, $2, $3, $4, $5, $6)`,
    [
      id,
      options.maxInFlight ?? 20,
      options.timeoutMs ?? 15_000,
      options.status ?? 0,
      options.draining ?? false,
      ['none', 'strict', 'by_key'].indexOf(options.ordering ?? 'none'),
    ],
  )
  return id
}

export async function addLanes(db: Queryable, count: number, options: LaneOptions = {}): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) ids.push(await addLane(db, options))
  return ids
}

/** Owes `count` events to one endpoint. @returns the events' ids, in the order of their tickets */
export async function owe(db: Queryable, endpointId: string, count = 1): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select posthorn.publish_to($1, $1::uuid::text, 'a.b', convert_to(n::text, 'UTF8')) as id from generate_series(1, $2::integer) n`,
    [endpointId, count],
  )
  return rows.map((row) => row.id)
}

export type ClaimRest = {
  limit?: number
  perLane?: number
  graceMs?: number
  dispatcherId?: number
  readyFrom?: bigint
}

/** Claims from these lanes from the first ticket on. */
export function claimFrom(bench: Bench, lanes: readonly string[], rest: ClaimRest = {}, pool = bench.pool) {
  return claimDeliveries(pool, {
    lanes: lanes.map((endpointId) => ({ endpointId, readyFrom: rest.readyFrom ?? 0n, leasedFrom: 0n })),
    limit: rest.limit ?? 100,
    perLane: rest.perLane ?? rest.limit ?? 100,
    graceMs: rest.graceMs ?? 15_000,
    dispatcherId: rest.dispatcherId ?? bench.dispatcherId,
  })
}

export async function leasesOf(bench: Bench, lanes: readonly string[], rest: ClaimRest = {}): Promise<Lease[]> {
  return (await claimFrom(bench, lanes, rest)).flatMap((lane) => lane.leases)
}

export const succeeded = { outcome: outcomeCode.succeeded, state: stateCode.succeeded, status: 200 } as const
export const failed = { outcome: outcomeCode.failed, state: stateCode.failed, status: 500 } as const
export const scheduled = { outcome: outcomeCode.failed, state: stateCode.scheduled, status: 500 } as const

/** What became of a lease: succeeded, unless told otherwise. */
export function settlementOf(lease: Lease, rest: Partial<Settlement> = {}): Settlement {
  return {
    eventId: lease.eventId,
    endpointId: lease.endpointId,
    ticket: lease.ticket,
    attemptId: uuidV7(),
    number: lease.number,
    ...succeeded,
    reason: null,
    step: lease.step,
    fresh: false,
    waitMs: 0,
    startedAt: new Date(),
    durationMs: 1,
    error: null,
    url: 'http://127.0.0.1/',
    signature: 'v1,x',
    userAgent: 'Posthorn/0',
    headerNames: [],
    responseHeaders: null,
    responseBody: null,
    truncated: false,
    // Lanes hear nothing of these attempts, unless a test says so.
    health: 'unknown',
    watched: false,
    probe: false,
    head: lease.head,
    laneWaitMs: 0,
    gone: false,
    ...rest,
  }
}

export function settle(pool: Pool, items: readonly Settlement[]) {
  return settleDeliveries(pool, items)
}

export type OwedRow = {
  event_id: string
  endpoint_id: string
  ticket: string
  state: number
  attempts: number
  step: number
  fresh: boolean
  leased: boolean
  wait_ms: number
}

/** The live rows of these lanes, by ticket. */
export async function owedAt(db: Queryable, lanes: readonly string[]): Promise<OwedRow[]> {
  const { rows } = await db.query<OwedRow>(
    `select d.event_id, d.endpoint_id, d.ticket, d.state, d.attempts, d.step, d.fresh,
       d.lease_expires_at is not null and d.dispatcher_id is not null as leased,
       (extract(epoch from d.due_at - now()) * 1000)::double precision as wait_ms
     from posthorn.delivery d where d.endpoint_id = any($1) order by d.ticket`,
    [lanes],
  )
  return rows
}

export type LoggedRow = {
  event_id: string
  endpoint_id: string
  id: string
  number: number
  outcome: number
  state: number
  reason: string | null
  status: number | null
  error_code: string | null
  error_message: string | null
  response_body: Buffer | null
  next: boolean
}

/** The log of these lanes, by attempt. */
export async function loggedAt(db: Queryable, lanes: readonly string[]): Promise<LoggedRow[]> {
  const { rows } = await db.query<LoggedRow>(
    `select a.event_id, a.endpoint_id, a.id, a.number, a.outcome, a.state, a.reason, a.status, a.error_code, a.error_message,
       a.response_body, a.next_attempt_at is not null as next
     from posthorn.attempt a where a.endpoint_id = any($1) order by a.event_id, a.number, a.id`,
    [lanes],
  )
  return rows
}

/** A mulberry32: the same numbers for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
