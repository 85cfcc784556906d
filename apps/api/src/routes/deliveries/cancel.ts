import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { ApiProblem, notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { deliverySchema, presentDelivery } from './delivery.ts'
import { deliveryParameters } from './delivery-parameters.ts'
import type { DeliveryDeps } from './redeliver.ts'

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

export function registerDeliveryCancel(app: App, { tenantOf, doorbell }: DeliveryDeps): void {
  app.openapi(deliveryCancel, async (c) => {
    const { event, endpoint } = c.req.valid('param')
    const tenant = tenantOf(c)
    const endpointId = await tenant.endpoints.idOf(endpoint)
    const result = await tenant.cancel(event, endpointId)
    if (result === 'missing') throw notFound('delivery')
    if (result === 'in_flight') throw new ApiProblem('state_conflict', 'The delivery is in flight.')
    if (result === 'ended') throw new ApiProblem('state_conflict', 'The delivery has ended.')
    // At an ordered endpoint others may have waited for it.
    doorbell.ring([endpointId])
    const row = await tenant.readDelivery(event, endpointId)
    if (row === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant.tenantId, row), 200)
  })
}
