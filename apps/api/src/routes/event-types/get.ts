import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { eventTypeParameter } from '../../http/ids.ts'
import { json, problems } from '../../http/responses.ts'
import { eventTypeObject, presentEventType } from './event-type.ts'

export const eventTypeGet = createRoute({
  method: 'get',
  path: '/v1/event-types/{name}',
  operationId: 'getEventType',
  tags: ['Event types'],
  summary: 'Read an event type',
  request: { params: z.object({ name: eventTypeParameter }) },
  responses: { 200: json(eventTypeObject, 'The event type'), ...problems },
})

export function registerEventTypeGet(app: App, { prisma }: RouteDeps): void {
  app.openapi(eventTypeGet, async (c) => {
    const row = await prisma.eventType.findUnique({ where: { name: c.req.valid('param').name } })
    if (row === null) throw notFound('event type')
    return c.json(presentEventType(row), 200)
  })
}
