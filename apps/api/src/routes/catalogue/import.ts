import { setImmediate } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { readDocument } from '../../catalogue/documents/import.ts'
import { checkTypeValues, type TypeValues } from '../../catalogue/type-values.ts'
import { type FieldError, invalid } from '../../http/api-problem.ts'
import { jsonBodyUpTo } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { CatalogueDeps } from '../event-types/catalogue-deps.ts'
import { toRow } from '../event-types/event-type.ts'

const maxBytes = 4 * 1024 * 1024

const importQuery = z.strictObject({
  dry_run: z.enum(['true', 'false']).default('false').openapi({ description: 'Only tell. Writes nothing.' }),
})

/** What is read of a document. Its own standard says the rest. */
const importedDocument = z.record(z.string(), z.unknown()).openapi({
  type: 'object',
  properties: {
    openapi: { type: 'string', pattern: '^3\\.1\\.[0-9]$', example: '3.1.0' },
    webhooks: {
      type: 'object',
      description: 'By the types of events; of each, the POST.',
      additionalProperties: {
        type: 'object',
        properties: { post: { type: 'object', properties: { requestBody: { type: 'object' } } } },
      },
    },
    asyncapi: { type: 'string', pattern: '^3\\.[0-9]\\.[0-9]$', example: '3.0.0' },
    channels: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { messages: { type: 'object', additionalProperties: { type: 'object' } } },
      },
    },
    components: { type: 'object' },
  },
})

const importResult = z
  .object({
    format: z.enum(['asyncapi', 'openapi']),
    dry_run: z.boolean(),
    data: z.array(
      z.object({
        name: z.string(),
        outcome: z.enum(['created', 'changed', 'unchanged', 'refused']),
        errors: z.array(z.object({ path: z.string(), message: z.string() })).openapi({
          description: 'Why it is refused, by pointers into the type as PUT takes it: `/schema/properties/id/type`.',
        }),
      }),
    ),
  })
  .openapi('CatalogueImport')

type Outcome = z.infer<typeof importResult>['data'][number]

export const catalogueImport = createRoute({
  method: 'post',
  path: '/v1/catalogue/import',
  operationId: 'importCatalogue',
  tags: ['Event types'],
  summary: 'Make and change types as a document describes them',
  description:
    'An AsyncAPI 3 or an OpenAPI 3.1 document, as JSON. Each type that it describes becomes what it says, all of them in one ' +
    'transaction; those that cannot be taken are refused, and stay as they are, as do types that it does not describe. ' +
    'References are followed inside the document; nothing is fetched. A second time, nothing changes.',
  middleware: [jsonBodyUpTo(maxBytes)],
  request: { query: importQuery, body: jsonRequest(importedDocument) },
  responses: { 200: json(importResult, 'What became, or would become, of each type'), ...problems },
})

export function registerCatalogueImport(app: App, { prisma, catalogue, compiler }: CatalogueDeps): void {
  app.openapi(catalogueImport, async (c) => {
    const dryRun = c.req.valid('query').dry_run === 'true'
    const read = readDocument(c.req.valid('json'))
    if (!('types' in read)) throw invalid(read.path, read.message)
    const { format, types } = read
    const names = types.map(({ name }) => name)
    const rows = await prisma.eventType.findMany({ where: { name: { in: names } } })
    const before = new Map(rows.map((row) => [row.name, spell(row as unknown as TypeValues)]))
    const data: Outcome[] = []
    const writes: { name: string; values: TypeValues }[] = []
    for (const type of types) {
      const { name } = type
      if ('errors' in type) {
        data.push({ name, outcome: 'refused', errors: type.errors })
        continue
      }
      const { values } = type
      if (before.get(name) === spell(values)) {
        data.push({ name, outcome: 'unchanged', errors: [] })
        continue
      }
      const errors: FieldError[] = checkTypeValues(values, compiler)
      const outcome = errors.length > 0 ? 'refused' : before.has(name) ? 'changed' : 'created'
      data.push({ name, outcome, errors })
      if (errors.length === 0) writes.push({ name, values })
      // Schemas are compiled one at a time, and others have their turn in between.
      await setImmediate()
    }
    if (!dryRun && writes.length > 0) {
      const updatedAt = new Date()
      await prisma.$transaction(
        writes.map(({ name, values }) => {
          const row = toRow(values)
          return prisma.eventType.upsert({ where: { name }, create: { name, ...row }, update: { ...row, updatedAt } })
        }),
      )
      catalogue.changed()
    }
    return c.json({ format, dry_run: dryRun, data }, 200)
  })
}

/** The same for what says the same, in the same order. */
function spell({ description, schema, examples, archived }: TypeValues): string {
  return JSON.stringify([description, schema, examples, archived])
}
