import { createRoute, z } from '@hono/zod-openapi'
import { listAttempts, readDelivery, uuidTime } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { uuidSchema } from '../../http/ids.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import { attemptSchema, presentAttempt } from './attempt.ts'
import { deliveryParameters, readEndpointId } from './delivery-parameters.ts'

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

export function registerDeliveryAttempts(app: App, { pool, prisma }: Pick<RouteDeps, 'pool' | 'prisma'>): void {
  app.openapi(deliveryAttempts, async (c) => {
    const { tenant: tenantId, event: eventId, endpoint } = c.req.valid('param')
    const { limit, since, until, cursor: text } = c.req.valid('query')
    const after = cursor.read(text)
    const endpointId = await readEndpointId(prisma, tenantId, endpoint)
    if ((await readDelivery(pool, tenantId, eventId, endpointId)) === null) throw notFound('delivery')
    // As in every list, the period is that of the event.
    const createdAt = uuidTime(eventId)
    const outside = (since !== undefined && createdAt < since) || (until !== undefined && createdAt >= until)
    const list = {
      tenantId,
      eventId,
      endpointId,
      after: after === undefined ? undefined : { number: after[0], id: after[1] },
      limit: limit + 1,
    }
    const rows = outside ? [] : await listAttempts(pool, list)
    return c.json(
      toPage(rows, limit, cursor, (row): z.infer<typeof position> => [row.number, row.id], presentAttempt),
      200,
    )
  })
}
