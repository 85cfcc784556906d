import type { Pool, Queryable } from '../db/pool.ts'

export type JobStatus = 'running' | 'done' | 'stopped' | 'failed'

export type JobRow = {
  id: string
  kind: string
  tenantId: string | null
  endpointId: string | null
  status: JobStatus
  /** Null while it is not known yet. */
  total: number | null
  done: number
  error: string | null
  createdAt: Date
  endedAt: Date | null
}

/** What a job shows of itself. Counts stay far below 2^53. */
export const jobColumns = `
  j.id, j.kind, j.tenant_id as "tenantId", j.endpoint_id as "endpointId", j.status, j.total::float8 as total,
  j.done::float8 as done, j.error, j.created_at as "createdAt", j.ended_at as "endedAt"`

// Scoped where it is a tenant's own that is asked for: all others are not there.
const selectJob = `
select ${jobColumns} from posthorn.job j where j.id = $1 and ($2::text is null or j.tenant_id = $2)`

// What a deletion has left to do is the tenant's no more: half of it must not stay.
const stopText = `
update posthorn.job j set status = 'stopped', ended_at = clock_timestamp()
where j.id = $1 and ($2::text is null or j.tenant_id = $2) and j.status = 'running' and j.kind <> 'delete_tenant'
returning ${jobColumns}`

/** @param tenantId only this tenant's; null for any */
export async function readJob(db: Queryable, id: string, tenantId: string | null): Promise<JobRow | null> {
  const { rows } = await db.query<JobRow>(selectJob, [id, tenantId])
  return rows[0] ?? null
}

/**
 * Stops a job: waits for the batch that is under way, and no other begins.
 * @returns the job as it is now: not stopped where it had ended otherwise, or cannot be
 */
export async function stopJob(pool: Pool, id: string, tenantId: string | null): Promise<JobRow | null> {
  const { rows } = await pool.query<JobRow>(stopText, [id, tenantId])
  return rows[0] ?? readJob(pool, id, tenantId)
}
