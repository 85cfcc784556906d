import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointParameters } from './endpoint-parameters.ts'

export const endpointGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}',
  operationId: 'getEndpoint',
  tags: ['Endpoints'],
  summary: 'Read an endpoint',
  request: { params: endpointParameters },
  responses: { 200: json(endpointSchema, 'The endpoint'), ...problems },
})

export function registerEndpointGet(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(endpointGet, async (c) => {
    const row = await tenantOf(c).endpoints.find(c.req.valid('param').endpoint)
    return c.json(presentEndpoint(row), 200)
  })
}
