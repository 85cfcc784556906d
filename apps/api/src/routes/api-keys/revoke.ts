import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { idParameter } from '../../http/ids.ts'
import { noContent, problems } from '../../http/responses.ts'

export const apiKeyRevoke = createRoute({
  method: 'delete',
  path: '/v1/api-keys/{key}',
  operationId: 'revokeApiKey',
  tags: ['API keys'],
  summary: 'Revoke an API key',
  description: 'At once in the process that answers, within a second in all others. The key stays in the list.',
  request: { params: z.object({ key: idParameter('key', 'key') }) },
  responses: { 204: noContent, ...problems },
})

export function registerApiKeyRevoke(app: App, { prisma, tokens }: RouteDeps): void {
  app.openapi(apiKeyRevoke, async (c) => {
    const where = { id: c.req.valid('param').key, revokedAt: null }
    const { count } = await prisma.apiKey.updateMany({ where, data: { revokedAt: new Date() } })
    tokens.forget()
    if (count === 0) throw notFound('API key')
    return c.body(null, 204)
  })
}
