import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { uuidSchema } from '../../http/ids.ts'
import { createdWithin } from '../../http/keyset.ts'
import { createCursor, pageQuery, pageSchema, toPage } from '../../http/pagination.ts'
import { json, problems } from '../../http/responses.ts'
import { apiKeySchema, presentApiKey } from './api-key.ts'

const cursor = createCursor('api_keys', uuidSchema)

export const apiKeyList = createRoute({
  method: 'get',
  path: '/v1/api-keys',
  operationId: 'listApiKeys',
  tags: ['API keys'],
  summary: 'List the API keys',
  description: 'Revoked ones too, with the time at which they were.',
  request: { query: pageQuery },
  responses: { 200: json(pageSchema(apiKeySchema), 'Newest first'), ...problems },
})

export function registerApiKeyList(app: App, { prisma }: RouteDeps): void {
  app.openapi(apiKeyList, async (c) => {
    const query = c.req.valid('query')
    const after = cursor.read(query.cursor)
    const rows = await prisma.apiKey.findMany({
      where: { ...createdWithin(query), ...(after === undefined ? {} : { id: { lt: after } }) },
      orderBy: { id: 'desc' },
      take: query.limit + 1,
    })
    return c.json(
      toPage(rows, query.limit, cursor, (row) => row.id, presentApiKey),
      200,
    )
  })
}
