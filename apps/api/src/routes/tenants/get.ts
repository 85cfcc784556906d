import { createRoute, z } from '@hono/zod-openapi'
import { isTenantId } from '@posthorn/core'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { tenantParameter } from '../../http/ids.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps, TenantStore } from '../../tenancy/tenant-store.ts'
import { presentTenant, tenantSchema } from './tenant.ts'

export const tenantGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}',
  operationId: 'getTenant',
  tags: ['Tenants'],
  summary: 'Read a tenant',
  request: { params: z.object({ tenant: tenantParameter }) },
  responses: { 200: json(tenantSchema, 'The tenant'), ...problems },
})

export function registerTenantGet(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(tenantGet, async (c) => {
    const tenant = tenantOf(c)
    const found = (await tenant.read()) ?? (await makeUp(tenant))
    if (found === null) throw notFound('tenant')
    return c.json(presentTenant(found), 200)
  })
}

/**
 * Publishing does not wait for another open transaction that is just making the tenant. Where that one rolled back, the
 * tenant has events and no row yet: it is made now.
 */
async function makeUp(tenant: TenantStore) {
  if (!isTenantId(tenant.tenantId)) return null
  const { rows } = await tenant.listEvents({ limit: 1 })
  if (rows.length === 0) return null
  await tenant.ensure()
  return tenant.read()
}
