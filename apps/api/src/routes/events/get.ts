import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { eventWithPayloadSchema, presentEvent } from './event.ts'
import { eventParameters } from './event-parameters.ts'

export const eventGet = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events/{event}',
  operationId: 'getEvent',
  tags: ['Events'],
  summary: 'Read an event with its payload',
  request: { params: eventParameters },
  responses: { 200: json(eventWithPayloadSchema, 'The event'), ...problems },
})

export function registerEventGet(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(eventGet, async (c) => {
    const row = await tenantOf(c).readEvent(c.req.valid('param').event)
    if (row === null) throw notFound('event')
    // Put together by hand: a JSON writer would spell the payload's numbers and escapes in its own way.
    const head = JSON.stringify(presentEvent(row)).slice(0, -1)
    const body = Buffer.concat([Buffer.from(`${head},"payload":`), row.payload, Buffer.from('}')])
    return c.body(body, 200, { 'content-type': 'application/json' }) as never
  })
}
