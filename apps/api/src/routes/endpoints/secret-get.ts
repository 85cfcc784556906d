import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { json, problems } from '../../http/responses.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { findEndpoint } from './find-endpoint.ts'
import { presentSecrets, readSecrets, secretsSchema } from './secrets.ts'

export const endpointSecretGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/secret',
  operationId: 'getEndpointSecret',
  tags: ['Endpoints'],
  summary: "Read an endpoint's secrets",
  request: { params: endpointParameters },
  responses: { 200: json(secretsSchema, 'The secrets that sign'), ...problems },
})

export function registerEndpointSecretGet(app: App, { prisma, vault }: RouteDeps): void {
  app.openapi(endpointSecretGet, async (c) => {
    const { tenant, endpoint } = c.req.valid('param')
    const { id } = await findEndpoint(prisma, tenant, endpoint)
    c.header('cache-control', 'no-store')
    return c.json(presentSecrets(await readSecrets(prisma, vault, id)), 200)
  })
}
