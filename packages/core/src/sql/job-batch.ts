import type { Pool, Queryable } from '../db/pool.ts'
import { guardedTransaction } from './guarded-transaction.ts'
import type { JobAtHand, JobBatch, JobKind } from './job-kind.ts'
import { beginHot } from './planner-guards.ts'
import { recoverJob } from './recover-job.ts'
import { recoverPlans } from './recover-walk.ts'
import { tenantDeleteJob } from './tenant-delete-job.ts'

/**
 * Jobs: running -> done | failed, batch by batch.
 *
 * Invariants
 *   - A batch, what it counts and the position that it reached are one transaction: none of it can be done twice or be lost.
 *   - The job's row is locked for as long as the batch takes, and passed over by all others: one batch of a job at a time, over
 *     all dispatchers. The lock goes with its connection, so that a job of a dispatcher that died is free at once; one that is
 *     stopped between two statements is cut off by the server after 5 s.
 *   - No batch begins before `next_at`, whoever makes it: that is what a job takes of the database at most.
 *   - Recoveries of one endpoint are done one after another, in the order in which they were asked for.
 *   - A stop, which locks the row, waits for the batch under way; after it none begins.
 */
const kinds: Readonly<Record<string, JobKind>> = { recover: recoverJob, delete_tenant: tenantDeleteJob }
export const jobKindNames: readonly string[] = Object.keys(kinds)

export const readyJob = (kindNames: string): string => `
  j.status = 'running' and j.next_at <= clock_timestamp() and j.kind = any(${kindNames}::text[])
  and (j.endpoint_id is null or not exists (
    select from posthorn.job o where o.endpoint_id = j.endpoint_id and o.status = 'running' and o.id < j.id))`

// Asked first, so that looking for work where there is none draws no transaction's id.
const anyReady = `
select exists (select from posthorn.job j where ${readyJob('$1')}) as "ready"`

const claimJob = `
select j.id, j.kind, j.tenant_id as "tenantId", j.endpoint_id as "endpointId", j.input, j.position
from posthorn.job j
where ${readyJob('$1')}
order by j.next_at
limit 1
for no key update skip locked`

// The clock and not the transaction's begin: the rest is as long as the batch was, or a part of it.
const noteBatch = `
update posthorn.job j
set status = $2, position = $3, done = j.done + $4, total = coalesce($5, j.total), error = $6, faults = 0,
  next_at = clock_timestamp() + $7::float8 * interval '1 millisecond',
  ended_at = case when $2 <> 'running' then clock_timestamp() end
where j.id = $1`

// A batch that failed is tried again later and later, about an hour in all: then the job is given up.
const noteFault = `
update posthorn.job j
set faults = j.faults + 1, next_at = clock_timestamp() + least(600, 2 ^ j.faults) * interval '1 second',
  status = case when j.faults >= 14 then 'failed' else 'running' end,
  error = case when j.faults >= 14 then 'internal' end,
  ended_at = case when j.faults >= 14 then clock_timestamp() end
where j.id = $1 and j.status = 'running'`

const deleteEnded = `
with old as (
  select j.id from posthorn.job j
  where j.status <> 'running' and j.ended_at < now() - $1::float8 * interval '1 millisecond'
  order by j.ended_at limit $2 for update skip locked
)
delete from posthorn.job j using old where j.id = old.id`

const beginBatch = `${beginHot}; ${recoverPlans}`

/** How much a batch does, and how long the job then rests. */
export type JobPace = {
  /** Rows for the next batch of this kind. */
  limit(kind: string): number
  /** Told what a batch was. @returns milliseconds for which the job rests */
  rest(kind: string, batch: { status: JobBatch['status']; looked: number; limit: number; tookMs: number }): number
}

export type JobStep = {
  id: string
  kind: string
  status: JobBatch['status']
  error: string | null
  restMs: number
  rung: readonly string[]
}

/**
 * Does one batch of the job that has waited longest. When the batch fails, nothing of it is done, and the job is put off.
 * @returns null when there is none to do
 */
export async function workOnJob(pool: Pool, pace: JobPace): Promise<JobStep | null> {
  const { rows } = await pool.query<{ ready: boolean }>({ name: 'job-ready', text: anyReady, values: [jobKindNames] })
  if (!rows[0]!.ready) return null
  let atHand: string | null = null
  try {
    return await guardedTransaction(pool, beginBatch, async (client) => {
      const begunAt = performance.now()
      const job = await claim(client)
      if (job === null) return null
      atHand = job.id
      const limit = pace.limit(job.kind)
      const batch = await kinds[job.kind]!(client, job, limit)
      const { status, looked } = batch
      const restMs = pace.rest(job.kind, { status, looked, limit, tookMs: performance.now() - begunAt })
      await note(client, job, batch, restMs)
      return { id: job.id, kind: job.kind, status, error: batch.error ?? null, restMs, rung: batch.rung ?? [] }
    })
  } catch (error) {
    // Where the database is away this fails as well, and it is not the job's fault.
    if (atHand !== null) await pool.query(noteFault, [atHand]).catch(() => {})
    throw error
  }
}

async function claim(client: Queryable): Promise<(JobAtHand & { kind: string }) | null> {
  const { rows } = await client.query<JobAtHand & { kind: string }>({
    name: 'job-claim',
    text: claimJob,
    values: [jobKindNames],
  })
  return rows[0] ?? null
}

async function note(client: Queryable, job: JobAtHand, batch: JobBatch, restMs: number): Promise<void> {
  const ended = batch.status === 'done' || batch.status === 'failed'
  const status = ended ? batch.status : 'running'
  const position = batch.position === null ? null : JSON.stringify(batch.position)
  const values = [job.id, status, position, batch.done, batch.total ?? null, batch.error ?? null, restMs]
  await client.query({ name: 'job-note', text: noteBatch, values })
}

/** Forgets jobs that ended longer ago. @returns how many */
export async function deleteEndedJobs(db: Queryable, olderThanMs: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(deleteEnded, [olderThanMs, limit])
  return rowCount ?? 0
}
