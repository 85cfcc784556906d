import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { ApiProblem, notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import type { Doorbell } from '../../publish/doorbell.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { deliverySchema, presentDelivery } from './delivery.ts'
import { deliveryParameters } from './delivery-parameters.ts'

export const deliveryRedeliver = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/redeliver',
  operationId: 'redeliverDelivery',
  tags: ['Deliveries'],
  summary: 'Owe a delivery again, now',
  description:
    'An ended one gets a fresh schedule and keeps its `webhook-id`; a scheduled one is due now; a pending one is left as it is.',
  request: { params: deliveryParameters },
  responses: { 202: json(deliverySchema, 'Owed'), ...problems },
})

export type DeliveryDeps = TenantRouteDeps & { doorbell: Pick<Doorbell, 'ring'> }

export function registerDeliveryRedeliver(app: App, { tenantOf, doorbell }: DeliveryDeps): void {
  app.openapi(deliveryRedeliver, async (c) => {
    const { event, endpoint } = c.req.valid('param')
    const tenant = tenantOf(c)
    const endpointId = await tenant.endpoints.idOf(endpoint)
    const result = await tenant.redeliver(event, endpointId)
    if (result === 'missing') throw notFound('delivery')
    if (result === 'in_flight') throw new ApiProblem('state_conflict', 'The delivery is in flight.')
    if (result === 'endpoint_closed') throw new ApiProblem('state_conflict', 'The endpoint is disabled or deleted.')
    doorbell.ring([endpointId])
    const row = await tenant.readDelivery(event, endpointId)
    if (row === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant.tenantId, row), 202)
  })
}
