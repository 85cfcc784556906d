import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { checkTypeValues, maxDescriptionLength, maxExamples } from '../../catalogue/type-values.ts'
import { ApiProblem } from '../../http/api-problem.ts'
import { newEventTypeParameter } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { CatalogueDeps } from './catalogue-deps.ts'
import { eventTypeObject, jsonSchema, presentEventType, toRow } from './event-type.ts'

const eventTypeInput = z.strictObject({
  description: z.string().max(maxDescriptionLength).nullable().optional(),
  schema: jsonSchema
    .nullable()
    .optional()
    .openapi({
      type: ['object', 'null'],
      description: 'JSON Schema 2020-12: what is published with this type must match it. Null takes any payload.',
    }),
  examples: z
    .array(z.unknown())
    .max(maxExamples)
    .nullable()
    .optional()
    .openapi({ description: 'Payloads for readers; each must match the schema.' }),
  archived: z.boolean().nullable().optional(),
})

export const eventTypePut = createRoute({
  method: 'put',
  path: '/v1/event-types/{name}',
  operationId: 'putEventType',
  tags: ['Event types'],
  summary: 'Create or update an event type',
  description:
    'Replaces it whole: what is left out has its default again. A schema holds for publishes from the answer on; in other ' +
    'API processes within a second.',
  middleware: [jsonBody],
  request: { params: z.object({ name: newEventTypeParameter }), body: jsonRequest(eventTypeInput) },
  responses: { 200: json(eventTypeObject, 'Updated'), 201: json(eventTypeObject, 'Created'), ...problems },
})

export function registerEventTypePut(app: App, { prisma, catalogue, compiler }: CatalogueDeps): void {
  app.openapi(eventTypePut, async (c) => {
    const { name } = c.req.valid('param')
    const { description, schema, examples, archived } = c.req.valid('json')
    const values = {
      description: description ?? '',
      schema: schema ?? null,
      examples: examples ?? [],
      archived: archived ?? false,
    }
    const errors = checkTypeValues(values, compiler)
    const first = errors[0]
    if (first) throw new ApiProblem('invalid_request', `${first.path}: ${first.message}`, { errors })
    const data = toRow(values)
    const before = await prisma.eventType.findUnique({ where: { name }, select: { name: true } })
    // Between the two another may have made it: then this updates, and only the status is a moment behind.
    const row = await prisma.eventType.upsert({
      where: { name },
      create: { name, ...data },
      update: { ...data, updatedAt: new Date() },
    })
    catalogue.changed()
    return c.json(presentEventType(row), before === null ? 201 : 200)
  })
}
