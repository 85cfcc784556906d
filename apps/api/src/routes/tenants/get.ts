import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { tenantParameter } from '../../http/ids.ts'
import { json, problems } from '../../http/responses.ts'
import { presentTenant, tenantSchema } from './tenant.ts'

export const tenantGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}',
  tags: ['Tenants'],
  summary: 'Read a tenant',
  request: { params: z.object({ tenant: tenantParameter }) },
  responses: { 200: json(tenantSchema, 'The tenant'), ...problems },
})

export function registerTenantGet(app: App, { prisma }: RouteDeps): void {
  app.openapi(tenantGet, async (c) => {
    const { tenant } = c.req.valid('param')
    const row = await prisma.tenant.findUnique({ where: { id: tenant } })
    if (row === null) throw notFound('tenant')
    return c.json(presentTenant(row), 200)
  })
}
