import { z } from '@hono/zod-openapi'
import { eventTypeSchema } from '../../http/ids.ts'
import { timeSchema, writeTime } from '../../http/time.ts'

/** An event type of the catalogue as the contract shows it. */
export const eventTypeObject = z
  .object({
    name: eventTypeSchema,
    description: z.string(),
    schema: z.null(),
    archived: z.boolean(),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi('EventType')

type EventTypeRow = { name: string; description: string; archived: boolean; createdAt: Date; updatedAt: Date }

export function presentEventType(row: EventTypeRow): z.infer<typeof eventTypeObject> {
  return {
    name: row.name,
    description: row.description,
    schema: null,
    archived: row.archived,
    created_at: writeTime(row.createdAt),
    updated_at: writeTime(row.updatedAt),
  }
}
