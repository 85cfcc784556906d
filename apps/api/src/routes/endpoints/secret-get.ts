import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointParameters } from './endpoint-parameters.ts'
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

export function registerEndpointSecretGet(app: App, { tenantOf, vault }: TenantRouteDeps): void {
  app.openapi(endpointSecretGet, async (c) => {
    const { endpoints } = tenantOf(c)
    const endpoint = await endpoints.find(c.req.valid('param').endpoint)
    c.header('cache-control', 'no-store')
    return c.json(presentSecrets(await readSecrets(endpoints.secretsOf(endpoint), vault)), 200)
  })
}
