import { createRoute } from '@hono/zod-openapi'
import { cancel, readDelivery } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { ApiProblem, notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { deliverySchema, presentDelivery } from './delivery.ts'
import { deliveryParameters, readEndpointId } from './delivery-parameters.ts'

export const deliveryCancel = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/cancel',
  operationId: 'cancelDelivery',
  tags: ['Deliveries'],
  summary: 'Stop owing a delivery',
  description: 'While it is pending or scheduled. One that is canceled already stays so.',
  request: { params: deliveryParameters },
  responses: { 200: json(deliverySchema, 'Canceled'), ...problems },
})

export function registerDeliveryCancel(app: App, { pool, prisma }: Pick<RouteDeps, 'pool' | 'prisma'>): void {
  app.openapi(deliveryCancel, async (c) => {
    const { tenant, event, endpoint } = c.req.valid('param')
    const endpointId = await readEndpointId(prisma, tenant, endpoint)
    const result = await cancel(pool, tenant, event, endpointId)
    if (result === 'missing') throw notFound('delivery')
    if (result === 'in_flight') throw new ApiProblem('state_conflict', 'The delivery is in flight.')
    if (result === 'ended') throw new ApiProblem('state_conflict', 'The delivery has ended.')
    const row = await readDelivery(pool, tenant, event, endpointId)
    if (row === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant, row), 200)
  })
}
