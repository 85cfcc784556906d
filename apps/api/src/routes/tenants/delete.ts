import { createRoute, z } from '@hono/zod-openapi'
import { isTenantId } from '@posthorn/core'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { tenantParameter } from '../../http/ids.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { jobSchema, presentJob } from '../jobs/job.ts'

export const tenantDelete = createRoute({
  method: 'delete',
  path: '/v1/tenants/{tenant}',
  operationId: 'deleteTenant',
  tags: ['Tenants'],
  summary: 'Delete a tenant with all that it owns',
  description:
    'For operators. Once this is answered, the tenant, its endpoints, events, deliveries and keys are not found any more, and no attempt begins; a job then deletes the rows, batch by batch. ' +
    'It ends when what was in flight has ended, and every transaction that was open before. Publishing for the tenant afterwards makes a new one of the same name.',
  request: { params: z.object({ tenant: tenantParameter }) },
  responses: { 202: json(jobSchema, 'Deleted; a job clears up'), ...problems },
})

export function registerTenantDelete(app: App, { tenantOf, tokens }: TenantRouteDeps): void {
  app.openapi(tenantDelete, async (c) => {
    const tenant = tenantOf(c)
    // The reserved tenant is none that could be deleted.
    const job = isTenantId(tenant.tenantId) ? await tenant.delete() : null
    if (job === null) throw notFound('tenant')
    tokens.forget()
    return c.json(presentJob(job), 202)
  })
}
