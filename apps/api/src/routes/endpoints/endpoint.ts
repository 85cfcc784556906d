import { z } from '@hono/zod-openapi'
import { encodeId, parseExactly } from '@posthorn/core'
import { idSchema, tenantIdSchema } from '../../http/ids.ts'
import { timeSchema, writeTime } from '../../http/time.ts'
import type { EndpointRow } from '../../tenancy/endpoint-store.ts'
import { filterSchema } from './filter.ts'
import { maskedValue } from './headers.ts'
import { rateLimitSchema, readRateLimit } from './rate-limit.ts'
import { signatureVersion } from './secrets.ts'

export const endpointStatus = z.enum(['enabled', 'paused', 'disabled'])
export const endpointOrdering = z.enum(['none', 'strict', 'by_key'])

/** An endpoint as the contract shows it, without its secret. */
export const endpointSchema = z
  .object({
    id: idSchema('ep'),
    uid: z.string().nullable(),
    tenant_id: tenantIdSchema,
    url: z.string(),
    description: z.string(),
    event_types: z.array(z.string()).nullable(),
    channels: z.array(z.string()).nullable(),
    filter: filterSchema,
    status: endpointStatus,
    disabled_reason: z.string().nullable(),
    headers: z.record(z.string(), z.string()).openapi({ description: `Values are masked: "${maskedValue}".` }),
    max_in_flight: z.int(),
    rate_limit: rateLimitSchema.nullable(),
    timeout_ms: z.int(),
    retry_schedule: z.array(z.int()).nullable(),
    ordering: endpointOrdering,
    signatures: z.array(signatureVersion).openapi({ description: 'With which versions attempts are signed.' }),
    metadata: z.record(z.string(), z.string()),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi('Endpoint')

/** The answer of a registration, the one that holds the secret. */
export const newEndpointSchema = endpointSchema
  .extend({
    secret: z
      .string()
      .nullable()
      .openapi({ description: 'Of v1; null without it.', example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' }),
    public_key: z
      .string()
      .nullable()
      .openapi({ description: 'Of v1a; null without it. The private key is never shown.', example: null }),
  })
  .openapi('NewEndpoint')

export function presentEndpoint(row: EndpointRow): z.infer<typeof endpointSchema> {
  return {
    id: encodeId('ep', row.id),
    uid: row.uid,
    tenant_id: row.tenantId,
    url: row.url,
    description: row.description,
    event_types: row.eventTypes.length === 0 ? null : row.eventTypes,
    channels: row.channels.length === 0 ? null : row.channels,
    filter: row.filter === null ? null : parseExactly(row.filter)!,
    status: row.status as z.infer<typeof endpointStatus>,
    disabled_reason: row.disabledReason,
    headers: Object.fromEntries(row.headerNames.map((name) => [name, maskedValue])),
    max_in_flight: row.maxInFlight,
    rate_limit: readRateLimit(row.rateLimit),
    timeout_ms: row.timeoutMs,
    retry_schedule: row.retrySchedule as number[] | null,
    ordering: row.ordering as z.infer<typeof endpointOrdering>,
    signatures: row.signatures as z.infer<typeof signatureVersion>[],
    metadata: row.metadata as Record<string, string>,
    created_at: writeTime(row.createdAt),
    updated_at: writeTime(row.updatedAt),
  }
}
