import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { newTenantParameter } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { metadataSchema } from '../../http/metadata.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { presentTenant, tenantSchema } from './tenant.ts'

const tenantInput = z.strictObject({
  name: z.string().max(256).nullable().optional(),
  metadata: metadataSchema.nullable().optional(),
})

export const tenantPut = createRoute({
  method: 'put',
  path: '/v1/tenants/{tenant}',
  operationId: 'putTenant',
  tags: ['Tenants'],
  summary: 'Create or update a tenant',
  description: 'Replaces it whole: what is left out has its default again.',
  middleware: [jsonBody],
  request: { params: z.object({ tenant: newTenantParameter }), body: jsonRequest(tenantInput) },
  responses: { 200: json(tenantSchema, 'Updated'), 201: json(tenantSchema, 'Created'), ...problems },
})

export function registerTenantPut(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(tenantPut, async (c) => {
    const { name = null, metadata } = c.req.valid('json')
    const tenant = tenantOf(c)
    const before = await tenant.read()
    // Between the two another may have made it: then this updates, and only the status is a moment behind.
    const row = await tenant.put({ name, metadata: metadata ?? {} })
    return c.json(presentTenant(row), before === null ? 201 : 200)
  })
}
