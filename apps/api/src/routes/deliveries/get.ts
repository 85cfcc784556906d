import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { deliverySchema, presentDelivery } from './delivery.ts'
import { deliveryParameters } from './delivery-parameters.ts'

export const deliveryGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}',
  operationId: 'getDelivery',
  tags: ['Deliveries'],
  summary: 'Read a delivery',
  request: { params: deliveryParameters },
  responses: { 200: json(deliverySchema, 'The delivery'), ...problems },
})

export function registerDeliveryGet(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(deliveryGet, async (c) => {
    const { event, endpoint } = c.req.valid('param')
    const tenant = tenantOf(c)
    const row = await tenant.readDelivery(event, await tenant.endpoints.idOf(endpoint))
    if (row === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant.tenantId, row), 200)
  })
}
