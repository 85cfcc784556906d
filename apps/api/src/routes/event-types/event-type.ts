import { z } from '@hono/zod-openapi'
import { Prisma } from '@posthorn/core/prisma'
import type { TypeValues } from '../../catalogue/type-values.ts'
import { eventTypeSchema } from '../../http/ids.ts'
import { timeSchema, writeTime } from '../../http/time.ts'

const example = { type: 'object', required: ['total'], properties: { total: { type: 'number', minimum: 0 } } }

/** A JSON Schema in a body or an answer. */
export const jsonSchema = z
  .record(z.string(), z.unknown())
  .openapi({ description: 'JSON Schema 2020-12 of its payloads.', example })

/** An event type of the catalogue as the contract shows it. */
export const eventTypeObject = z
  .object({
    name: eventTypeSchema,
    description: z.string(),
    schema: jsonSchema.nullable().openapi({ type: ['object', 'null'] }),
    examples: z.array(z.unknown()),
    archived: z.boolean(),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi('EventType')

type EventTypeRow = {
  name: string
  description: string
  schema: unknown
  examples: unknown
  archived: boolean
  createdAt: Date
  updatedAt: Date
}

export function presentEventType(row: EventTypeRow): z.infer<typeof eventTypeObject> {
  return {
    name: row.name,
    description: row.description,
    schema: row.schema as Record<string, unknown> | null,
    examples: row.examples as unknown[],
    archived: row.archived,
    created_at: writeTime(row.createdAt),
    updated_at: writeTime(row.updatedAt),
  }
}

/** As the database takes it. */
export function toRow(values: TypeValues) {
  return {
    ...values,
    schema: (values.schema as Prisma.InputJsonObject | null) ?? Prisma.DbNull,
    examples: values.examples as Prisma.InputJsonArray,
  }
}
