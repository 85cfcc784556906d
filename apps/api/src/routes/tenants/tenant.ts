import { z } from '@hono/zod-openapi'
import { tenantIdSchema } from '../../http/ids.ts'
import { metadataSchema } from '../../http/metadata.ts'
import { timeSchema, writeTime } from '../../http/time.ts'

/** A tenant as the contract shows it. */
export const tenantSchema = z
  .object({
    id: tenantIdSchema,
    name: z.string().nullable(),
    metadata: metadataSchema,
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi('Tenant')

type TenantRow = { id: string; name: string | null; metadata: unknown; createdAt: Date; updatedAt: Date }

export function presentTenant(row: TenantRow): z.infer<typeof tenantSchema> {
  return {
    id: row.id,
    name: row.name,
    metadata: row.metadata as Record<string, string>,
    created_at: writeTime(row.createdAt),
    updated_at: writeTime(row.updatedAt),
  }
}
