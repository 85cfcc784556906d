import { z } from '@hono/zod-openapi'
import { encodeId, isChannel, maxChannelLength } from '@posthorn/core'
import { uuidTime } from '@posthorn/core/sql'
import { eventTypeSchema, idSchema, tenantIdSchema } from '../../http/ids.ts'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'

export const maxChannels = 64

export const channelSchema = z
  .string()
  .refine(isChannel, { error: 'Must be words of A-Z a-z 0-9 _ - joined by full stops, at most 128 long.' })
  .openapi({ type: 'string', maxLength: maxChannelLength, example: 'project-7' })

/** An event as the contract shows it, without its payload. */
export const eventSchema = z
  .object({
    id: idSchema('evt'),
    tenant_id: tenantIdSchema,
    type: eventTypeSchema,
    channels: z.array(channelSchema).nullable(),
    ordering_key: z.string().nullable(),
    deliver_at: timeSchema.nullable(),
    created_at: timeSchema,
    deliveries: z.int().min(0).openapi({ description: 'The endpoints that it was owed to when it was published.' }),
  })
  .openapi('Event')

/** The payload in an answer stands there byte for byte as it was published: any JSON value. */
export const eventWithPayloadSchema = eventSchema.extend({ payload: z.any() }).openapi('EventWithPayload')

export type EventFacts = {
  id: string
  tenantId: string
  type: string
  channels: readonly string[] | null
  orderingKey: string | null
  deliverAt: Date | null
  deliveries: number
}

export function presentEvent(event: EventFacts): z.infer<typeof eventSchema> {
  return {
    id: encodeId('evt', event.id),
    tenant_id: event.tenantId,
    type: event.type,
    channels: event.channels === null ? null : [...event.channels],
    ordering_key: event.orderingKey,
    deliver_at: writeTimeOrNull(event.deliverAt),
    created_at: writeTime(uuidTime(event.id)),
    deliveries: event.deliveries,
  }
}
