import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { newEventTypeParameter } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { onlyNull } from '../../http/unsupported.ts'
import { eventTypeObject, presentEventType } from './event-type.ts'

const eventTypeInput = z.strictObject({
  description: z.string().max(4000).nullable().optional(),
  schema: onlyNull('A JSON Schema of its payloads.'),
  archived: z.boolean().nullable().optional(),
})

export const eventTypePut = createRoute({
  method: 'put',
  path: '/v1/event-types/{name}',
  operationId: 'putEventType',
  tags: ['Event types'],
  summary: 'Create or update an event type',
  description: 'Replaces it whole: what is left out has its default again.',
  middleware: [jsonBody],
  request: { params: z.object({ name: newEventTypeParameter }), body: jsonRequest(eventTypeInput) },
  responses: { 200: json(eventTypeObject, 'Updated'), 201: json(eventTypeObject, 'Created'), ...problems },
})

export function registerEventTypePut(app: App, { prisma }: RouteDeps): void {
  app.openapi(eventTypePut, async (c) => {
    const { name } = c.req.valid('param')
    const { description, archived } = c.req.valid('json')
    const data = { description: description ?? '', archived: archived ?? false }
    const before = await prisma.eventType.findUnique({ where: { name }, select: { name: true } })
    // Between the two another may have made it: then this updates, and only the status is a moment behind.
    const row = await prisma.eventType.upsert({
      where: { name },
      create: { name, ...data },
      update: { ...data, updatedAt: new Date() },
    })
    return c.json(presentEventType(row), before === null ? 201 : 200)
  })
}
