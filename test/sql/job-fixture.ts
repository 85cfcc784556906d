import { randomUUID } from 'node:crypto'
import { filterPath } from '@posthorn/core'
import type { Pool, Queryable } from '@posthorn/core/db'

import { type JobRow, type JobStep, type RecoverState, readJob, startRecovery, workOnJob } from '@posthorn/core/sql'

import { readFilterOf } from './filter-fixture.ts'

export type Receiver = { tenant: string; endpoint: string }

export type ReceiverOptions = {
  tenant?: string
  eventTypes?: string[]
  channels?: string[]
  filter?: object
  status?: 0 | 1 | 2 | 3
}

const statusNames = ['enabled', 'paused', 'disabled', 'disabled'] as const

/** An endpoint with its lane, of a new tenant unless one is named. */
export async function addReceiver(db: Queryable, options: ReceiverOptions = {}): Promise<Receiver> {
  const { tenant = `t-${randomUUID()}`, eventTypes = [], channels = [], status = 0 } = options
  const filter = options.filter === undefined ? null : readFilterOf(options.filter)
  const endpoint = randomUUID()
  await db.query('insert into posthorn.tenant (id) values ($1) on conflict do nothing', [tenant])
  await db.query(
    `insert into posthorn.endpoint (id, tenant_id, url, event_types, channels, status, deleted_at, filter, filter_path)
     values ($1, $2, 'http://127.0.0.1/', $3, $4, $5, case when $6 then now() end, $7, $8::text::jsonpath)`,
    [
      endpoint,
      tenant,
      eventTypes,
      channels,
      statusNames[status],
      status === 3,
      filter?.text,
      filter && filterPath(filter.filter),
    ],
  )
  await db.query(
    `insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms, status) values ($1, $2, 20, 15000, $3)`,
    [endpoint, tenant, status],
  )
  return { tenant, endpoint }
}

export type EventOptions = {
  type?: string
  channels?: string[] | null
  agoMs?: number
  deliverInMs?: number
  /** JSON text; left out, each has its number. */
  payload?: string
}

/** Events that were owed to nobody, in publish order, a millisecond apart. @returns their ids */
export async function addEvents(
  db: Queryable,
  tenant: string,
  count: number,
  { type = 'a.b', channels = null, agoMs = 60_000, deliverInMs, payload }: EventOptions = {},
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `insert into posthorn.event (id, tenant_id, type, channels, deliver_at, deliveries, payload)
     select posthorn.uuid_v7(now() - ($4::float8 - n) * interval '1 millisecond'), $1, $2, $3,
       now() + $6::float8 * interval '1 millisecond', 0, convert_to(coalesce($7, n::text), 'UTF8')
     from generate_series(1, $5::integer) n
     returning id`,
    [tenant, type, channels, agoMs, count, deliverInMs ?? null, payload ?? null],
  )
  return rows.map((row) => row.id).sort()
}

/** Codes as the log has them; without an attempt (outcome 0), after one, or superseded. */
export type Ended = { state?: 0 | 2 | 4 | 5 | 6; outcome?: 0 | 1 | 2 | 3 | 4; number?: number; reason?: string | null }

/** Logs attempts of these events at an endpoint. */
export async function log(db: Queryable, endpoint: string, events: readonly string[], ended: Ended): Promise<void> {
  const { state = 5, outcome = 2, number = 1, reason = 'exhausted' } = ended
  await db.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
     select e, $2, posthorn.uuid_v7(clock_timestamp()), $3, $4, $5, $6, now(), now() from unnest($1::uuid[]) e`,
    [events, endpoint, number, outcome, state, reason],
  )
}

export const before = (ms: number): Date => new Date(Date.now() - ms)

export type RecoveryOptions = { states?: readonly RecoverState[]; since?: Date; until?: Date | null }

/** @throws when it is refused */
export async function recover(
  db: Queryable,
  { tenant, endpoint }: Receiver,
  { states = ['failed', 'canceled', 'missed'], since = before(3_600_000), until = null }: RecoveryOptions = {},
): Promise<JobRow> {
  const job = await startRecovery(db, { tenantId: tenant, endpointId: endpoint, states, since, until })
  if (typeof job === 'string') throw new Error(job)
  return job
}

/** Batches of so many rows, and no rest between them. */
export const paceOf = (limit: number) => ({ limit: () => limit, rest: () => 0 })

/** Does batches, of whatever job, until this one has ended. */
export async function finish(pool: Pool, id: string, limit = 500): Promise<JobRow> {
  for (;;) {
    const job = await readJob(pool, id, null)
    if (job === null) throw new Error('there is no such job')
    if (job.status !== 'running') return job
    await workOnJob(pool, paceOf(limit))
  }
}

/** Does so many batches. */
export async function batches(pool: Pool, count: number, limit: number): Promise<JobStep[]> {
  const steps: JobStep[] = []
  for (let at = 0; at < count; at++) {
    const step = await workOnJob(pool, paceOf(limit))
    if (step !== null) steps.push(step)
  }
  return steps
}

/** Does batches until the job has done so much. */
export async function workUntil(pool: Pool, id: string, done: number, limit = 10): Promise<void> {
  for (;;) {
    const job = await readJob(pool, id, null)
    if (job === null || job.status !== 'running') throw new Error(`the job is ${job?.status}`)
    if (job.done >= done) return
    await workOnJob(pool, paceOf(limit))
  }
}

export type Owed = {
  event_id: string
  ticket: string
  attempts: number
  step: number
  state: number
  owed_ms: number
  due_ms: number
}

/** What is owed to an endpoint, by ticket; times in milliseconds from now. */
export async function owedTo(db: Queryable, endpoint: string): Promise<Owed[]> {
  const { rows } = await db.query<Owed>(
    `select d.event_id, d.ticket, d.attempts, d.step, d.state,
       (extract(epoch from d.owed_at - clock_timestamp()) * 1000)::float8 as owed_ms,
       (extract(epoch from d.due_at - clock_timestamp()) * 1000)::float8 as due_ms
     from posthorn.delivery d where d.endpoint_id = $1 order by d.ticket`,
    [endpoint],
  )
  return rows
}

/** How many rows each table has, and a digest of all that they hold. */
export async function contents(db: Queryable): Promise<Record<string, string>> {
  const { rows } = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'p') order by 1`,
  )
  const found: Record<string, string> = {}
  for (const { name } of rows) {
    const { rows: sums } = await db.query<{ sum: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as sum from posthorn.${name} t`,
    )
    found[name] = sums[0]!.sum
  }
  const { rows: ticket } = await db.query<{ last: string }>('select last_value::text as last from posthorn.ticket')
  return { ...found, ticket: ticket[0]!.last }
}
