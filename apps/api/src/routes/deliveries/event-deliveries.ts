import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { pageQuery, pageSchema } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { eventParameters } from '../events/event-parameters.ts'
import { deliverySchema } from './delivery.ts'
import { createDeliveryCursor, presentPage, readPosition } from './delivery-position.ts'

const cursor = createDeliveryCursor('event_deliveries')

export const eventDeliveries = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}/deliveries',
  operationId: 'listEventDeliveries',
  tags: ['Deliveries'],
  summary: "List an event's deliveries",
  request: { params: eventParameters, query: pageQuery },
  responses: { 200: json(pageSchema(deliverySchema), 'Where it went'), ...problems },
})

export function registerEventDeliveries(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(eventDeliveries, async (c) => {
    const { event: eventId } = c.req.valid('param')
    const tenant = tenantOf(c)
    const { cursor: text, ...query } = c.req.valid('query')
    const page = await tenant.listDeliveries({ ...query, eventId, after: readPosition(cursor, text) })
    // Nothing was looked at: there is no such event, or it lies outside the period asked for.
    if (page.examined === 0 && (await tenant.readEvent(eventId)) === null) throw notFound('event')
    return c.json(presentPage(cursor, tenant.tenantId, page), 200)
  })
}
