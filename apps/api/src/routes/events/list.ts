import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { eventTypeSchema, tenantParameter, uuidSchema } from '../../http/ids.ts'
import { createCursor, pageQuery, pageSchema } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { eventSchema, presentEvent } from './event.ts'

const cursor = createCursor('events', uuidSchema)

export const eventList = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/events',
  operationId: 'listEvents',
  tags: ['Events'],
  summary: 'List events',
  description: 'With `type`, a page may be short and yet not the last: go on while there is a `next_cursor`.',
  request: {
    params: z.object({ tenant: tenantParameter }),
    query: pageQuery.extend({ type: eventTypeSchema.optional() }),
  },
  responses: { 200: json(pageSchema(eventSchema), 'Newest first'), ...problems },
})

export function registerEventList(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(eventList, async (c) => {
    const { cursor: text, ...query } = c.req.valid('query')
    const { rows, next } = await tenantOf(c).listEvents({ ...query, after: cursor.read(text) })
    return c.json({ data: rows.map(presentEvent), next_cursor: next === null ? null : cursor.write(next) }, 200)
  })
}
