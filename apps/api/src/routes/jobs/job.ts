import { z } from '@hono/zod-openapi'
import { encodeId } from '@posthorn/core'
import type { JobRow } from '@posthorn/core/sql'
import type { Principal } from '../../auth/principal.ts'
import { idParameter, idSchema, tenantIdSchema } from '../../http/ids.ts'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'

/** A job as the contract shows it. */
export const jobSchema = z
  .object({
    id: idSchema('job'),
    tenant_id: tenantIdSchema.nullable(),
    endpoint_id: idSchema('ep').nullable(),
    kind: z.string().openapi({
      description: '`recover`, which counts deliveries owed again, or `delete_tenant`, which counts events deleted.',
      example: 'recover',
    }),
    status: z.enum(['running', 'done', 'stopped', 'failed']),
    total: z.int().min(0).nullable().openapi({
      description:
        'How many there were when it began. Null while they are being counted, and where nobody counts. What changes meanwhile may make `done` differ.',
    }),
    done: z.int().min(0),
    error: z.string().nullable().openapi({
      description:
        'Why it failed: `endpoint_disabled` or `endpoint_deleted` (meanwhile: no more is owed), or `internal`. What was done until then stays done.',
    }),
    created_at: timeSchema,
    ended_at: timeSchema.nullable(),
  })
  .openapi('Job')

export const jobParameters = z.object({ job: idParameter('job', 'job') })

export function presentJob(row: JobRow): z.infer<typeof jobSchema> {
  return {
    id: encodeId('job', row.id),
    tenant_id: row.tenantId,
    endpoint_id: row.endpointId === null ? null : encodeId('ep', row.endpointId),
    kind: row.kind,
    status: row.status,
    total: row.total,
    done: row.done,
    error: row.error,
    created_at: writeTime(row.createdAt),
    ended_at: writeTimeOrNull(row.endedAt),
  }
}

/** Whose jobs a token sees: an operator all, a tenant its own. */
export function ownerOf(principal: Principal): string | null {
  return principal.kind === 'operator' ? null : principal.tenantId
}
