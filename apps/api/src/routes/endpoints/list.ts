import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { tenantParameter, uuidSchema } from '../../http/ids.ts'
import { createdWithin } from '../../http/keyset.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointSchema, presentEndpoint } from './endpoint.ts'

const cursor = createCursor('endpoints', uuidSchema)

export const endpointList = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/endpoints',
  operationId: 'listEndpoints',
  tags: ['Endpoints'],
  summary: "List a tenant's endpoints",
  description: 'Empty for a tenant that is not there yet.',
  request: { params: z.object({ tenant: tenantParameter }), query: pageQuery },
  responses: { 200: json(pageSchema(endpointSchema), 'Newest first'), ...problems },
})

export function registerEndpointList(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(endpointList, async (c) => {
    const query = c.req.valid('query')
    const after = cursor.read(query.cursor)
    const rows = await tenantOf(c).endpoints.list(createdWithin(query), after, query.limit + 1)
    return c.json(
      toPage(rows, query.limit, cursor, (row) => row.id, presentEndpoint),
      200,
    )
  })
}
