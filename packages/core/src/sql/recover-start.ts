import type { Queryable } from '../db/pool.ts'
import { type JobRow, jobColumns } from './job-read.ts'
import type { RecoverState } from './recover-walk.ts'

/** Recoveries of one endpoint that may wait for each other. */
export const maxRecoveries = 10

// Invariant: only at an endpoint that may be owed to, and only so many at a time. What is published from now on is not looked
// at: it is owed already.
const startText = `
with made as (
  insert into posthorn.job as j (id, kind, tenant_id, endpoint_id, input)
  select posthorn.uuid_v7(clock_timestamp()), 'recover', l.tenant_id, l.endpoint_id, jsonb_build_object(
    'states', $3::text[], 'low', posthorn.uuid_floor($4::timestamptz),
    'high', posthorn.uuid_floor(least($5::timestamptz, clock_timestamp() + interval '1 millisecond')))
  from posthorn.lane l
  where l.endpoint_id = $2 and l.tenant_id = $1 and l.status < 2
    and (select count(*) from posthorn.job r where r.endpoint_id = l.endpoint_id and r.status = 'running') < $6
  returning ${jobColumns}
)
select id, kind, "tenantId", "endpointId", status, total, done, error, "createdAt", "endedAt" from made`

const statusText = `
select l.status from posthorn.lane l join posthorn.endpoint e on e.id = l.endpoint_id
where l.endpoint_id = $2 and l.tenant_id = $1`

export type RecoverRequest = {
  tenantId: string
  endpointId: string
  states: readonly RecoverState[]
  /** Inclusive, on the events' created_at. */
  since: Date
  /** Exclusive; null is now. */
  until: Date | null
}

/** `too_many`: as many recoveries of the endpoint are under way as there may be. */
export type RecoverRefusal = 'endpoint_missing' | 'endpoint_deleted' | 'endpoint_disabled' | 'too_many'

/** Makes the job. Dispatchers find it within a second. */
export async function startRecovery(db: Queryable, request: RecoverRequest): Promise<JobRow | RecoverRefusal> {
  const { tenantId, endpointId, states, since, until } = request
  const values = [tenantId, endpointId, states, since, until, maxRecoveries]
  const { rows } = await db.query<JobRow>(startText, values)
  return rows[0] ?? (await refusalOf(db, tenantId, endpointId)) ?? 'too_many'
}

/** What recovers nothing now; null when it may be owed to. */
export async function refusalOf(
  db: Queryable,
  tenantId: string,
  endpointId: string,
): Promise<Exclude<RecoverRefusal, 'too_many'> | null> {
  const { rows } = await db.query<{ status: number }>(statusText, [tenantId, endpointId])
  const status = rows[0]?.status
  if (status === undefined) return 'endpoint_missing'
  return status === 3 ? 'endpoint_deleted' : status === 2 ? 'endpoint_disabled' : null
}
