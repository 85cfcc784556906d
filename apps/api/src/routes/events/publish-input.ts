import { z } from '@hono/zod-openapi'
import { isIdempotencyKey, isOrderingKey, maxOrderingKeyLength, type ScannedEvent } from '@posthorn/core'
import type { PublishEvent } from '@posthorn/core/sql'
import { invalid } from '../../http/api-problem.ts'
import { eventTypeSchema } from '../../http/ids.ts'
import { timeInput } from '../../http/time.ts'
import { problemFromZod } from '../../http/zod-problem.ts'
import { channelSchema, maxChannels } from './event.ts'

export const maxBatchEvents = 1_000
export const maxBatchBytes = 16 * 1024 * 1024
/** What a single publish may have besides its payload. */
export const envelopeAllowanceBytes = 64 * 1024

const maxAheadMs = 30 * 86_400_000

const deliverAt = timeInput
  .refine((time) => time.getTime() <= Date.now() + maxAheadMs, { error: 'Must be at most 30 days ahead.' })
  .openapi({ description: 'Not attempted before; at most 30 days ahead. A time in the past is now.' })

const orderingKey = z
  .string()
  .refine(isOrderingKey, {
    error: `Must be 1 to ${maxOrderingKeyLength} characters, none of them U+0000 or a lone surrogate.`,
  })
  .openapi({
    minLength: 1,
    maxLength: maxOrderingKeyLength,
    example: 'order-1042',
    description: 'At endpoints that are ordered by key, events of one key arrive one at a time, in publish order.',
  })

/**
 * One event to publish. The schema sees where the payload stands, and never the payload: its bytes are kept as they came.
 */
export const publishInput = z
  .strictObject({
    type: eventTypeSchema,
    payload: z
      .any()
      .refine((span) => span !== undefined, { error: 'Required.' })
      .openapi({
        description: 'Any JSON value, nested at most 500 deep. Delivered byte for byte as it stands in the request.',
        example: { type: 'invoice.paid', data: { id: 1042, total: 99.5 } },
      }),
    channels: z.array(channelSchema).min(1).max(maxChannels).nullable().optional(),
    ordering_key: orderingKey
      .nullable()
      .optional()
      .openapi({ type: ['string', 'null'] }),
    deliver_at: deliverAt
      .nullable()
      .optional()
      .openapi({ type: ['string', 'null'] }),
  })
  .openapi('Publish')

export const batchInput = z
  .strictObject({ events: z.array(publishInput).min(1).max(maxBatchEvents) })
  .openapi('PublishBatch')

const batchFields = z.strictObject({ events: z.literal(true, { error: 'Required.' }) })

export const idempotencyHeader = z.object({
  'idempotency-key': z.string().optional().openapi({
    description:
      'Printable ASCII, 1 to 255 long, kept for at least 24 hours. The same request again gets the first answer again.',
    example: 'inv-1042-paid',
  }),
})

/** @throws ApiProblem 422 for a key that is none */
export function readIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null
  if (!isIdempotencyKey(header)) {
    throw invalid('/idempotency-key', 'The header must be 1 to 255 characters of printable ASCII.')
  }
  return header
}

/** @throws ApiProblem 422 with all that is wrong with the fields */
export function readEvent(body: Buffer, scanned: ScannedEvent): PublishEvent {
  const result = check(scanned)
  if (!result.success) throw problemFromZod(result.error)
  return toEvent(body, scanned, result.data)
}

/** @throws ApiProblem 422 with what is wrong, paths beginning with the event's place (`/events/3/type`) */
export function readEvents(
  body: Buffer,
  batch: { fields: Record<string, unknown>; events: ScannedEvent[] | null },
): PublishEvent[] {
  // Here only whether it is there; the events are looked at one by one.
  const whole = batchFields.safeParse(batch.events === null ? batch.fields : { ...batch.fields, events: true })
  if (!whole.success) throw problemFromZod(whole.error)
  const scanned = batch.events ?? []
  if (scanned.length === 0) throw invalid('/events', 'Must have at least one event.')
  const events: PublishEvent[] = []
  const issues: z.core.$ZodIssue[] = []
  for (const [place, each] of scanned.entries()) {
    const result = check(each)
    if (result.success) events.push(toEvent(body, each, result.data))
    else for (const issue of result.error.issues) issues.push({ ...issue, path: ['events', place, ...issue.path] })
    if (issues.length >= 50) break
  }
  if (issues.length > 0) throw problemFromZod(new z.ZodError(issues))
  return events
}

function check({ fields, payload }: ScannedEvent) {
  fields['payload'] = payload ?? undefined
  return publishInput.safeParse(fields)
}

function toEvent(body: Buffer, { payload }: ScannedEvent, input: z.output<typeof publishInput>): PublishEvent {
  return {
    type: input.type,
    payload: body.subarray(payload!.start, payload!.end),
    channels: input.channels ?? null,
    orderingKey: input.ordering_key ?? null,
    deliverAt: input.deliver_at ?? null,
  }
}
