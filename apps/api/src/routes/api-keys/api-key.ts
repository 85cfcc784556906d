import { z } from '@hono/zod-openapi'
import { encodeId } from '@posthorn/core'
import { idSchema, tenantIdSchema } from '../../http/ids.ts'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'

export const apiKeyKind = z.enum(['operator', 'tenant', 'publish'])

/** An API key as the contract shows it, without its token. */
export const apiKeySchema = z
  .object({
    id: idSchema('key'),
    name: z.string(),
    kind: apiKeyKind,
    tenant_id: tenantIdSchema.nullable(),
    prefix: z.string().openapi({ description: 'The first characters of the token, to tell keys apart.' }),
    created_at: timeSchema,
    last_used_at: timeSchema.nullable(),
    expires_at: timeSchema.nullable(),
    revoked_at: timeSchema.nullable(),
  })
  .openapi('ApiKey')

/** The one answer that holds the token. */
export const newApiKeySchema = apiKeySchema
  .extend({ token: z.string().openapi({ description: 'Shown this once.', example: 'phk_...' }) })
  .openapi('NewApiKey')

type ApiKeyRow = {
  id: string
  name: string
  kind: string
  tenantId: string | null
  prefix: string
  createdAt: Date
  lastUsedAt: Date | null
  expiresAt: Date | null
  revokedAt: Date | null
}

export function presentApiKey(row: ApiKeyRow): z.infer<typeof apiKeySchema> {
  return {
    id: encodeId('key', row.id),
    name: row.name,
    kind: row.kind as z.infer<typeof apiKeyKind>,
    tenant_id: row.tenantId,
    prefix: row.prefix,
    created_at: writeTime(row.createdAt),
    last_used_at: writeTimeOrNull(row.lastUsedAt),
    expires_at: writeTimeOrNull(row.expiresAt),
    revoked_at: writeTimeOrNull(row.revokedAt),
  }
}
