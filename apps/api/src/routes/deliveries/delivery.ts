import { z } from '@hono/zod-openapi'
import { encodeId } from '@posthorn/core'
import { type DeliveryRow, uuidTime } from '@posthorn/core/sql'
import { eventTypeSchema, idSchema, tenantIdSchema } from '../../http/ids.ts'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'

export const deliveryStates = ['pending', 'in_flight', 'scheduled', 'succeeded', 'failed', 'canceled'] as const

export const deliveryStateSchema = z.enum(deliveryStates)

/** A delivery as the contract shows it. */
export const deliverySchema = z
  .object({
    event_id: idSchema('evt'),
    endpoint_id: idSchema('ep'),
    tenant_id: tenantIdSchema,
    event_type: eventTypeSchema,
    state: deliveryStateSchema,
    reason: z.string().nullable().openapi({
      description:
        'Why it failed or was canceled: `exhausted`, `expired`, `gone`, `target_refused`, `endpoint_disabled`, `endpoint_deleted` or `by_request`.',
    }),
    attempts: z.int().min(0),
    next_attempt_at: timeSchema.nullable(),
    last_status: z.int().nullable().openapi({ description: 'The HTTP status of the last attempt.' }),
    last_error: z.string().nullable().openapi({ description: 'The error code of the last attempt.' }),
    created_at: timeSchema,
    ended_at: timeSchema.nullable(),
  })
  .openapi('Delivery')

export function presentDelivery(tenantId: string, row: DeliveryRow): z.infer<typeof deliverySchema> {
  return {
    event_id: encodeId('evt', row.eventId),
    endpoint_id: encodeId('ep', row.endpointId),
    tenant_id: tenantId,
    event_type: row.eventType,
    state: row.state,
    reason: row.reason,
    attempts: row.attempts,
    next_attempt_at: writeTimeOrNull(row.nextAttemptAt),
    last_status: row.lastStatus,
    last_error: row.lastError,
    created_at: writeTime(uuidTime(row.eventId)),
    ended_at: writeTimeOrNull(row.endedAt),
  }
}
