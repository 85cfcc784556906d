import { createRoute, z } from '@hono/zod-openapi'
import { listEvents } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { eventTypeSchema, tenantParameter, uuidSchema } from '../../http/ids.ts'
import { createCursor, pageQuery, pageSchema } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
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

export function registerEventList(app: App, { pool }: Pick<RouteDeps, 'pool'>): void {
  app.openapi(eventList, async (c) => {
    const { tenant: tenantId } = c.req.valid('param')
    const { cursor: text, ...query } = c.req.valid('query')
    const { rows, next } = await listEvents(pool, { ...query, tenantId, after: cursor.read(text) })
    return c.json({ data: rows.map(presentEvent), next_cursor: next === null ? null : cursor.write(next) }, 200)
  })
}
