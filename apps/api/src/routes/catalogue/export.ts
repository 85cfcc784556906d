import { createRoute, z } from '@hono/zod-openapi'
import type { PrismaClient } from '@posthorn/core/prisma'
import type { App } from '../../app.ts'
import { type NamedType, toAsyncapi, toOpenapi } from '../../catalogue/documents/export.ts'
import type { JsonObject } from '../../catalogue/schema/outline.ts'
import { json, problems } from '../../http/responses.ts'
import type { CatalogueDeps } from '../event-types/catalogue-deps.ts'

const exportQuery = z.strictObject({
  title: z.string().min(1).max(200).default('Webhooks').openapi({ description: "The document's title." }),
  version: z.string().min(1).max(50).default('1.0.0').openapi({ description: "The document's version." }),
  archived: z.enum(['true', 'false']).default('false').openapi({ description: 'Whether archived types are in it.' }),
})

const description =
  'For customers: the types with their descriptions, schemas and examples, by name. What is written can be imported again.'

export const catalogueOpenapi = createRoute({
  method: 'get',
  path: '/v1/catalogue/openapi',
  operationId: 'getCatalogueOpenapi',
  tags: ['Event types'],
  summary: 'The catalogue as the webhooks of OpenAPI 3.1',
  description,
  request: { query: exportQuery },
  responses: { 200: json(z.looseObject({}), 'OpenAPI 3.1'), ...problems },
})

export const catalogueAsyncapi = createRoute({
  method: 'get',
  path: '/v1/catalogue/asyncapi',
  operationId: 'getCatalogueAsyncapi',
  tags: ['Event types'],
  summary: 'The catalogue as AsyncAPI 3',
  description,
  request: { query: exportQuery },
  responses: { 200: json(z.looseObject({}), 'AsyncAPI 3'), ...problems },
})

export function registerCatalogueExport(app: App, { prisma }: CatalogueDeps): void {
  app.openapi(catalogueOpenapi, async (c) => {
    const { archived, ...info } = c.req.valid('query')
    return c.json(toOpenapi(await readTypes(prisma, archived === 'true'), info), 200)
  })
  app.openapi(catalogueAsyncapi, async (c) => {
    const { archived, ...info } = c.req.valid('query')
    return c.json(toAsyncapi(await readTypes(prisma, archived === 'true'), info), 200)
  })
}

async function readTypes(prisma: PrismaClient, archived: boolean): Promise<NamedType[]> {
  const rows = await prisma.eventType.findMany({
    where: archived ? {} : { archived: false },
    orderBy: { name: 'asc' },
    select: { name: true, description: true, schema: true, examples: true, archived: true },
  })
  return rows.map((row) => ({ ...row, schema: row.schema as JsonObject | null, examples: row.examples as unknown[] }))
}
