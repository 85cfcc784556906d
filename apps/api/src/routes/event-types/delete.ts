import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { eventTypeParameter } from '../../http/ids.ts'
import { noContent, problems } from '../../http/responses.ts'
import type { CatalogueDeps } from './catalogue-deps.ts'

export const eventTypeDelete = createRoute({
  method: 'delete',
  path: '/v1/event-types/{name}',
  operationId: 'deleteEventType',
  tags: ['Event types'],
  summary: 'Take an event type out of the catalogue',
  description: 'Events of the type, and endpoints that ask for it, stay as they are.',
  request: { params: z.object({ name: eventTypeParameter }) },
  responses: { 204: noContent, ...problems },
})

export function registerEventTypeDelete(app: App, { prisma, catalogue }: CatalogueDeps): void {
  app.openapi(eventTypeDelete, async (c) => {
    const { count } = await prisma.eventType.deleteMany({ where: { name: c.req.valid('param').name } })
    if (count === 0) throw notFound('event type')
    catalogue.changed()
    return c.body(null, 204)
  })
}
