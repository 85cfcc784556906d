import { createRoute, z } from '@hono/zod-openapi'
import { uuidV7 } from '@posthorn/core'
import type { App, RouteDeps } from '../../app.ts'
import { generateToken } from '../../auth/token.ts'
import { invalid } from '../../http/api-problem.ts'
import { tenantIdSchema } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { timeInput } from '../../http/time.ts'
import { apiKeyKind, newApiKeySchema, presentApiKey } from './api-key.ts'

const apiKeyInput = z.strictObject({
  name: z.string().min(1).max(256),
  kind: apiKeyKind,
  tenant_id: tenantIdSchema
    .nullable()
    .optional()
    .openapi({ description: 'Required for a tenant key; a publish key without one may publish for any tenant.' }),
  expires_at: timeInput.nullable().optional(),
})

export const apiKeyCreate = createRoute({
  method: 'post',
  path: '/v1/api-keys',
  operationId: 'createApiKey',
  tags: ['API keys'],
  summary: 'Make an API key',
  description: 'The answer shows the token, this once.',
  middleware: [jsonBody],
  request: { body: jsonRequest(apiKeyInput) },
  responses: { 201: json(newApiKeySchema, 'Made'), ...problems },
})

export function registerApiKeyCreate(app: App, { prisma }: RouteDeps): void {
  app.openapi(apiKeyCreate, async (c) => {
    const { name, kind, tenant_id: tenantId = null, expires_at: expiresAt = null } = c.req.valid('json')
    if (kind === 'tenant' && tenantId === null) throw invalid('/tenant_id', 'Required for a tenant key.')
    if (kind === 'operator' && tenantId !== null) throw invalid('/tenant_id', 'An operator key has no tenant.')
    if (expiresAt !== null && expiresAt.getTime() <= Date.now()) throw invalid('/expires_at', 'Lies in the past.')
    const { token, prefix, hash } = generateToken()
    const data = { id: uuidV7(), name, kind, tenantId, prefix, tokenHash: new Uint8Array(hash), expiresAt }
    const row = await prisma.apiKey.create({ data })
    c.header('cache-control', 'no-store')
    return c.json({ ...presentApiKey(row), token }, 201)
  })
}
