import type { Pool } from '../db/pool.ts'
import { guardedTransaction } from './guarded-transaction.ts'
import { type JobRow, jobColumns } from './job-read.ts'
import { beginHot } from './planner-guards.ts'

/**
 * A tenant's deletion begins: its endpoints are deleted, its keys are gone, and so is the tenant, in one transaction. What it
 * published is deleted by a job (tenant-delete-job.ts), and hidden until then: it is all that has an id below `below`.
 *
 * Invariants
 *   - Lanes are locked first and in order, as settles and changes of an endpoint lock them. No claim leases at any of them once
 *     this has committed; what is owed ends as at any deleted endpoint.
 *   - Whoever publishes for the tenant afterwards makes a new one, of which this deletes nothing: `below` is the next
 *     millisecond, which has begun when this commits.
 *   - An endpoint that is being made just now is not seen here: it is the new tenant's.
 */
const knownTenant = `
select exists (select from posthorn.tenant t where t.id = $1)
  or exists (select from posthorn.endpoint e where e.tenant_id = $1 and e.deleted_at is null)
  or coalesce((
    select e.id from posthorn.event e
    where (e.tenant_id, e.id) >= ($1, '00000000-0000-0000-0000-000000000000') and (e.tenant_id, e.id) <= ($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by e.tenant_id desc, e.id desc limit 1
  ) >= coalesce((${deletedBelowOf('$1')}), '00000000-0000-0000-0000-000000000000'), false) as "known"`

function deletedBelowOf(tenant: string): string {
  return `
  select (j.input ->> 'below')::uuid from posthorn.job j
  where j.tenant_id = ${tenant} and j.kind = 'delete_tenant' and j.status = 'running'
  order by (j.input ->> 'below')::uuid desc limit 1`
}

const lockLanes = `
with mine as materialized (
  select e.id from posthorn.endpoint e where e.tenant_id = $1 and e.deleted_at is null
)
select l.endpoint_id as "id" from posthorn.lane l
where l.endpoint_id = any(array(select mine.id from mine)) order by l.endpoint_id for no key update`

const closeLanes = `
update posthorn.lane l set status = 3, draining = true, version = l.version + 1 where l.endpoint_id = any($1::uuid[])`

const deleteEndpoints = `
update posthorn.endpoint e
set status = 'disabled', disabled_reason = 'by_request', version = e.version + 1, deleted_at = now(), updated_at = now()
where e.id = any($1::uuid[])`

const deleteKeys = `
delete from posthorn.api_key k where k.tenant_id = $1`

const deleteTenant = `
delete from posthorn.tenant t where t.id = $1`

const makeJob = `
with made as (
  insert into posthorn.job as j (id, kind, tenant_id, input)
  select posthorn.uuid_v7(clock_timestamp()), 'delete_tenant', $1, jsonb_build_object(
    'below', posthorn.uuid_floor(clock_timestamp() + interval '1 millisecond'))
  returning ${jobColumns}
)
select made.id, made.kind, made."tenantId", made."endpointId", made.status, made.total, made.done, made.error,
  made."createdAt", made."endedAt"
from made`

const nextMillisecond = `
select pg_sleep(0.002)`

/**
 * Deletes a tenant: at once for whoever asks, and row by row by the job that is answered.
 * @returns null when there is no such tenant
 */
export function startTenantDelete(pool: Pool, tenantId: string): Promise<JobRow | null> {
  return guardedTransaction(pool, beginHot, async (client) => {
    const { rows: known } = await client.query<{ known: boolean }>(knownTenant, [tenantId])
    if (!known[0]!.known) return null
    const { rows: lanes } = await client.query<{ id: string }>(lockLanes, [tenantId])
    const ids = lanes.map((lane) => lane.id)
    await client.query(closeLanes, [ids])
    await client.query(deleteEndpoints, [ids])
    await client.query(deleteKeys, [tenantId])
    await client.query(deleteTenant, [tenantId])
    const { rows } = await client.query<JobRow>(makeJob, [tenantId])
    await client.query(nextMillisecond)
    return rows[0]!
  })
}

const deletedBelow = `
select (${deletedBelowOf('$1')}) as "below"`

/** The id below which all of a tenant's events are being deleted and not to be shown; null when there is nothing to hide. */
export async function readDeletedBelow(pool: Pool, tenantId: string): Promise<string | null> {
  const { rows } = await pool.query<{ below: string | null }>({
    name: 'deleted-below',
    text: deletedBelow,
    values: [tenantId],
  })
  return rows[0]!.below
}
