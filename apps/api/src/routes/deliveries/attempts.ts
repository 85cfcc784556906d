import { createRoute, z } from '@hono/zod-openapi'
import { uuidTime } from '@posthorn/core/sql'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { uuidSchema } from '../../http/ids.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { attemptSchema, presentAttempt } from './attempt.ts'
import { deliveryParameters } from './delivery-parameters.ts'

const position = z.tuple([z.int().min(0).max(2_147_483_647), uuidSchema])
const cursor = createCursor<z.infer<typeof position>>('attempts', position)

export const deliveryAttempts = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/attempts',
  operationId: 'listAttempts',
  tags: ['Deliveries'],
  summary: "List a delivery's attempts",
  request: { params: deliveryParameters, query: pageQuery },
  responses: { 200: json(pageSchema(attemptSchema), 'Newest first'), ...problems },
})

export function registerDeliveryAttempts(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(deliveryAttempts, async (c) => {
    const { event: eventId, endpoint } = c.req.valid('param')
    const tenant = tenantOf(c)
    const { limit, since, until, cursor: text } = c.req.valid('query')
    const after = cursor.read(text)
    const endpointId = await tenant.endpoints.idOf(endpoint)
    if ((await tenant.readDelivery(eventId, endpointId)) === null) throw notFound('delivery')
    // As in every list, the period is that of the event.
    const createdAt = uuidTime(eventId)
    const outside = (since !== undefined && createdAt < since) || (until !== undefined && createdAt >= until)
    const list = {
      eventId,
      endpointId,
      after: after === undefined ? undefined : { number: after[0], id: after[1] },
      limit: limit + 1,
    }
    const rows = outside ? [] : await tenant.listAttempts(list)
    return c.json(
      toPage(rows, limit, cursor, (row): z.infer<typeof position> => [row.number, row.id], presentAttempt),
      200,
    )
  })
}
