import { createRoute, z } from '@hono/zod-openapi'
import { decodeId } from '@posthorn/core'
import type { App } from '../../app.ts'
import { eventTypeSchema, tenantParameter } from '../../http/ids.ts'
import { pageQuery, pageSchema } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { deliverySchema, deliveryStateSchema } from './delivery.ts'
import { createDeliveryCursor, presentPage, readPosition } from './delivery-position.ts'

const cursor = createDeliveryCursor('deliveries')

const endpointId = z
  .string()
  .refine((text) => decodeId('ep', text) !== null, { error: 'Must be the id of an endpoint.' })
  .transform((text) => decodeId('ep', text)!)
  .openapi({ type: 'string' })

export const deliveryList = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/deliveries',
  operationId: 'listDeliveries',
  tags: ['Deliveries'],
  summary: 'List deliveries',
  description: 'With a filter, a page may be short and yet not the last: go on while there is a `next_cursor`.',
  request: {
    params: z.object({ tenant: tenantParameter }),
    query: pageQuery.extend({
      endpoint_id: endpointId.optional(),
      state: deliveryStateSchema.optional(),
      event_type: eventTypeSchema.optional(),
    }),
  },
  responses: { 200: json(pageSchema(deliverySchema), 'Newest event first'), ...problems },
})

export function registerDeliveryList(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(deliveryList, async (c) => {
    const { cursor: text, endpoint_id: endpointId, event_type: eventType, ...query } = c.req.valid('query')
    const after = readPosition(cursor, text)
    const tenant = tenantOf(c)
    const page = await tenant.listDeliveries({ ...query, endpointId, eventType, after })
    return c.json(presentPage(cursor, tenant.tenantId, page), 200)
  })
}
