import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { eventParameters } from './event-parameters.ts'

export const eventPayload = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}/payload',
  operationId: 'getEventPayload',
  tags: ['Events'],
  summary: "Read an event's payload alone",
  description: 'The very bytes that were published, and that every attempt sends.',
  request: { params: eventParameters },
  responses: { 200: json(z.any(), 'The payload'), ...problems },
})

export function registerEventPayload(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(eventPayload, async (c) => {
    const row = await tenantOf(c).readEvent(c.req.valid('param').event)
    if (row === null) throw notFound('event')
    const headers = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' }
    return c.body(new Uint8Array(row.payload), 200, headers) as never
  })
}
