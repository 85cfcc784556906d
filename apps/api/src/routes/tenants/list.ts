import { createRoute, type z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { byCreation, createdWithin, creationPosition } from '../../http/keyset.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import { presentTenant, tenantSchema } from './tenant.ts'

const cursor = createCursor('tenants', creationPosition)

export const tenantList = createRoute({
  method: 'get',
  path: '/v1/tenants',
  operationId: 'listTenants',
  tags: ['Tenants'],
  summary: 'List the tenants',
  request: { query: pageQuery },
  responses: { 200: json(pageSchema(tenantSchema), 'Newest first'), ...problems },
})

export function registerTenantList(app: App, { prisma }: RouteDeps): void {
  app.openapi(tenantList, async (c) => {
    const query = c.req.valid('query')
    const after = cursor.read(query.cursor)
    const rows = await prisma.tenant.findMany({
      where: { AND: [createdWithin(query), byCreation('id', after)] },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: query.limit + 1,
    })
    const position = (row: (typeof rows)[number]): z.infer<typeof creationPosition> => [row.createdAt.getTime(), row.id]
    return c.json(toPage(rows, query.limit, cursor, position, presentTenant), 200)
  })
}
