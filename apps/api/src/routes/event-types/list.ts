import { createRoute, type z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { byCreation, createdWithin, creationPosition } from '../../http/keyset.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import { eventTypeObject, presentEventType } from './event-type.ts'

const cursor = createCursor('event_types', creationPosition)

export const eventTypeList = createRoute({
  method: 'get',
  path: '/v1/event-types',
  operationId: 'listEventTypes',
  tags: ['Event types'],
  summary: 'List the event types',
  request: { query: pageQuery },
  responses: { 200: json(pageSchema(eventTypeObject), 'Newest first'), ...problems },
})

export function registerEventTypeList(app: App, { prisma }: RouteDeps): void {
  app.openapi(eventTypeList, async (c) => {
    const query = c.req.valid('query')
    const after = cursor.read(query.cursor)
    const rows = await prisma.eventType.findMany({
      where: { AND: [createdWithin(query), byCreation('name', after)] },
      orderBy: [{ createdAt: 'desc' }, { name: 'desc' }],
      take: query.limit + 1,
    })
    const position = (row: (typeof rows)[number]): z.infer<typeof creationPosition> => [
      row.createdAt.getTime(),
      row.name,
    ]
    return c.json(toPage(rows, query.limit, cursor, position, presentEventType), 200)
  })
}
