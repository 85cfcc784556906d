import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { json, problems } from '../../http/responses.ts'
import { endpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { findEndpoint } from './find-endpoint.ts'

export const endpointGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}',
  operationId: 'getEndpoint',
  tags: ['Endpoints'],
  summary: 'Read an endpoint',
  request: { params: endpointParameters },
  responses: { 200: json(endpointSchema, 'The endpoint'), ...problems },
})

export function registerEndpointGet(app: App, { prisma }: RouteDeps): void {
  app.openapi(endpointGet, async (c) => {
    const { tenant, endpoint } = c.req.valid('param')
    return c.json(presentEndpoint(await findEndpoint(prisma, tenant, endpoint)), 200)
  })
}
