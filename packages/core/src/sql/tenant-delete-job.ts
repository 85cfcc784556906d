import type { Queryable } from '../db/pool.ts'
import { after, dayAfter, lower } from './event-bounds.ts'
import type { JobBatch, JobKind } from './job-kind.ts'

/**
 * What a deleted tenant has left behind goes, batch by batch: idempotency keys, events with their attempts, endpoints with their
 * secrets, and jobs.
 *
 * Invariants
 *   - Only what was there before the deletion: events below `below`, and endpoints that are deleted. A tenant of the same
 *     name that was made since keeps all that it has.
 *   - Nothing is taken for the last before all transactions have ended that may have begun before the deletion: a publish in one
 *     of them may still commit an event, or a delivery at a deleted endpoint (`horizon`).
 *   - What is owed is not touched here: the drain ends it, and leases end by their own settle. Events go when nothing is owed any
 *     more, so that no payload is deleted under its delivery.
 *   - Lanes stay, closed for ever: should a transaction that saw the endpoint still owe it something, the drain finds it there.
 *   - An event goes in the statement that deletes its attempts.
 *   - Statements read and delete at most `limit` events of one day, and so of one partition: within it a place (ctid) is a row.
 */
type Position =
  /** `horizon`: the id that the oldest running transaction must have reached. */
  | { phase: 'keys'; horizon: string; key: string }
  | { phase: 'horizon'; horizon: string }
  | { phase: 'owed'; endpoint: string }
  | { phase: 'events'; at: string }
  | { phase: 'endpoints' }

const lowest = '00000000-0000-0000-0000-000000000000'

const takeHorizon = `
select pg_snapshot_xmax(pg_current_snapshot())::text as "horizon"`

const horizonPassed = `
select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as "passed"`

// Walked by the key, which begins with the tenant.
const deleteKeys = `
with batch as materialized (
  select k.ctid as at, k.key, k.created_at < posthorn.uuid_time($4) as old
  from posthorn.idempotency_key k
  where (k.tenant_id, k.key) > ($1, $2) and k.tenant_id <= $1
  order by k.tenant_id, k.key
  limit $3
), gone as (
  delete from posthorn.idempotency_key k using batch b where k.ctid = b.at and b.old
)
select count(*)::integer as "looked", (select b.key from batch b order by b.key desc limit 1) as "last" from batch`

const owedIn = (state: '0' | '1' | '2' | '3'): string => `
    (select true from posthorn.delivery d
     where d.state = ${state} and d.endpoint_id >= b.id and d.endpoint_id <= b.id order by d.endpoint_id limit 1)`

// A lane that is not draining any more, and yet owes something, got it by a late commit.
const owedLanes = `
with batch as materialized (
  select e.id from posthorn.endpoint e
  where (e.tenant_id, e.id) > ($1, $2::uuid) and e.tenant_id <= $1 and e.deleted_at is not null
  order by e.tenant_id, e.id
  limit $3
), owed as materialized (
  select b.id from batch b where coalesce(${(['0', '1', '2', '3'] as const).map(owedIn).join(',')}, false)
), locked as materialized (
  select l.endpoint_id from posthorn.lane l
  where l.endpoint_id = any(array(select owed.id from owed)) and l.status >= 2 and not l.draining
  order by l.endpoint_id
  for no key update
), marked as (
  update posthorn.lane l set draining = true where l.endpoint_id = any(array(select locked.endpoint_id from locked))
)
select count(*)::integer as "looked", (select b.id from batch b order by b.id desc limit 1) as "last",
  exists (select from owed) as "owed"
from batch`

const deleteEvents = `
with batch as materialized (
  select e.id, e.ctid as at from posthorn.event e
  where (e.tenant_id, e.id) >= ($1, $2::uuid) and (e.tenant_id, e.id) < ($1, $3::uuid) and e.id >= $2 and e.id < $3
  order by e.tenant_id, e.id
  limit $4
), log as materialized (
  select x.at from batch b cross join lateral (
    select a.ctid as at from posthorn.attempt a where a.event_id = b.id and a.event_id >= $2 and a.event_id < $3 offset 0
  ) x
), unlogged as (
  delete from posthorn.attempt a using log where a.ctid = log.at and a.event_id >= $2 and a.event_id < $3
), gone as (
  delete from posthorn.event e using batch b where e.ctid = b.at and e.id >= $2 and e.id < $3
)
select count(*)::integer as "looked", (select b.id from batch b order by b.id desc limit 1) as "last" from batch`

// Also those that were deleted before. Of one that a new tenant of the same name has deleted meanwhile its own deletion, or
// nobody, takes care.
const selectEndpoints = `
select e.id from posthorn.endpoint e
where e.tenant_id = $1 and e.deleted_at is not null and e.deleted_at <= posthorn.uuid_time($3)
order by e.tenant_id, e.id limit $2`

const deleteEndpoints = [
  'delete from posthorn.endpoint_secret s where s.endpoint_id = any($1::uuid[])',
  'delete from posthorn.endpoint e where e.id = any($1::uuid[])',
]

const deleteJobs = `
delete from posthorn.job j
where j.tenant_id = $1 and j.kind <> 'delete_tenant' and j.created_at <= posthorn.uuid_time($2)`

export const tenantDeleteJob: JobKind = async (db, job, limit) => {
  const position = job.position as Position | null
  const at = { db, tenantId: job.tenantId!, below: job.input['below'] as string, limit }
  if (position === null) return keys(at, { phase: 'keys', horizon: await horizonOf(db), key: '' })
  if (position.phase === 'keys') return keys(at, position)
  if (position.phase === 'horizon') return horizon(at, position)
  if (position.phase === 'owed') return owed(at, position.endpoint)
  if (position.phase === 'events') return events(at, position.at)
  return endpoints(at)
}

type At = { db: Queryable; tenantId: string; below: string; limit: number }

const step = (status: JobBatch['status'], position: Position, looked = 0, done = 0): JobBatch => ({
  status,
  position,
  done,
  looked,
})

async function horizonOf(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ horizon: string }>(takeHorizon)
  return rows[0]!.horizon
}

async function keys({ db, tenantId, below, limit }: At, position: Position & { phase: 'keys' }): Promise<JobBatch> {
  const values = [tenantId, position.key, limit, below]
  const { rows } = await db.query<{ looked: number; last: string | null }>(deleteKeys, values)
  const { looked, last } = rows[0]!
  if (looked < limit || last === null) return step('more', { phase: 'horizon', horizon: position.horizon }, looked)
  return step('more', { ...position, key: last }, looked)
}

async function horizon({ db }: At, position: Position & { phase: 'horizon' }): Promise<JobBatch> {
  const { rows } = await db.query<{ passed: boolean }>(horizonPassed, [position.horizon])
  return rows[0]!.passed ? step('more', { phase: 'owed', endpoint: lowest }) : step('waiting', position)
}

async function owed({ db, tenantId, limit }: At, endpoint: string): Promise<JobBatch> {
  const { rows } = await db.query<{ looked: number; last: string | null; owed: boolean }>(owedLanes, [
    tenantId,
    endpoint,
    limit,
  ])
  const { looked, last, owed } = rows[0]!
  if (owed) return step('waiting', { phase: 'owed', endpoint }, looked)
  if (looked < limit || last === null) return step('more', { phase: 'events', at: lowest }, looked)
  return step('more', { phase: 'owed', endpoint: last }, looked)
}

// What the walk goes on from, over days without any: across the partitions, for this once.
const firstEvent = `
select e.id from posthorn.event e
where (e.tenant_id, e.id) >= ($1, $2::uuid) and (e.tenant_id, e.id) < ($1, $3::uuid) and e.id >= $2 and e.id < $3
order by e.tenant_id, e.id limit 1`

async function events({ db, tenantId, below, limit }: At, from: string): Promise<JobBatch> {
  const { rows: first } = await db.query<{ id: string }>(firstEvent, [tenantId, from, below])
  const at = first[0]?.id
  if (at === undefined) return step('more', { phase: 'endpoints' })
  const end = lower(below, dayAfter(at))
  const { rows } = await db.query<{ looked: number; last: string | null }>({
    name: 'tenant-delete-events',
    text: deleteEvents,
    values: [tenantId, at, end, limit],
  })
  const { looked, last } = rows[0]!
  return step('more', { phase: 'events', at: looked < limit ? end : after(last!) }, looked, looked)
}

async function endpoints({ db, tenantId, below, limit }: At): Promise<JobBatch> {
  const { rows } = await db.query<{ id: string }>(selectEndpoints, [tenantId, limit, below])
  const ids = rows.map((row) => row.id)
  for (const text of ids.length > 0 ? deleteEndpoints : []) await db.query(text, [ids])
  if (ids.length === limit) return step('more', { phase: 'endpoints' }, ids.length)
  await db.query(deleteJobs, [tenantId, below])
  return step('done', { phase: 'endpoints' }, ids.length)
}
