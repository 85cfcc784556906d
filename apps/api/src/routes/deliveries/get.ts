import { createRoute } from '@hono/zod-openapi'
import { readDelivery } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { deliverySchema, presentDelivery } from './delivery.ts'
import { deliveryParameters, readEndpointId } from './delivery-parameters.ts'

export const deliveryGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}',
  operationId: 'getDelivery',
  tags: ['Deliveries'],
  summary: 'Read a delivery',
  request: { params: deliveryParameters },
  responses: { 200: json(deliverySchema, 'The delivery'), ...problems },
})

export function registerDeliveryGet(app: App, { pool, prisma }: Pick<RouteDeps, 'pool' | 'prisma'>): void {
  app.openapi(deliveryGet, async (c) => {
    const { tenant, event, endpoint } = c.req.valid('param')
    const row = await readDelivery(pool, tenant, event, await readEndpointId(prisma, tenant, endpoint))
    if (row === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant, row), 200)
  })
}
