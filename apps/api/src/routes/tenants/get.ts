import { createRoute, z } from '@hono/zod-openapi'
import { isTenantId } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { tenantParameter } from '../../http/ids.ts'
import { json, problems } from '../../http/responses.ts'
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

export function registerTenantGet(app: App, { prisma }: RouteDeps): void {
  app.openapi(tenantGet, async (c) => {
    const { tenant } = c.req.valid('param')
    const row = await prisma.tenant.findUnique({ where: { id: tenant } })
    const found = row ?? (await makeUp(prisma, tenant))
    if (found === null) throw notFound('tenant')
    return c.json(presentTenant(found), 200)
  })
}

/**
 * Publishing does not wait for another open transaction that is just making the tenant. Where that one rolled back, the
 * tenant has events and no row yet: it is made now.
 */
async function makeUp(prisma: PrismaClient, id: string) {
  if (!isTenantId(id)) return null
  const event = await prisma.event.findFirst({ where: { tenantId: id }, orderBy: { id: 'desc' }, select: { id: true } })
  if (event === null) return null
  await prisma.tenant.createMany({ data: [{ id }], skipDuplicates: true })
  return prisma.tenant.findUnique({ where: { id } })
}
