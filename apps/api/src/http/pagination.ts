import { z } from '@hono/zod-openapi'
import { invalid } from './api-problem.ts'
import { timeInput } from './time.ts'

const maxPageSize = 200
export const defaultPageSize = 50

const limit = z
  .string()
  .regex(/^[0-9]{1,9}$/, { error: `Must be a whole number from 1 to ${maxPageSize}.` })
  .transform(Number)
  .pipe(z.int().min(1).max(maxPageSize))
  .default(defaultPageSize)
  .openapi({ type: 'integer', minimum: 1, maximum: maxPageSize, default: defaultPageSize })

const cursor = z
  .string()
  .min(1)
  .max(1024)
  .openapi({ description: 'The `next_cursor` of the page before.', example: 'WyJlbmRwb2ludHMiXQ' })

/** The query of every list; strict, so that a misspelt parameter is told. Extend it with the list's own filters. */
export const pageQuery = z.strictObject({
  limit,
  cursor: cursor.optional(),
  since: timeInput.optional().openapi({ description: 'Inclusive.' }),
  until: timeInput.optional().openapi({ description: 'Exclusive.' }),
})

/** The answer of every list, newest first. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() })
}

export type Cursor<T> = {
  write(position: T): string
  /** @throws ApiProblem 422 for what `write` of this very list cannot have made */
  read(text: string | undefined): T | undefined
}

/**
 * The cursors of one list: its name and the position of a page's last row, as base64url of JSON. Opaque to callers.
 * @param position what `write` is given, as JSON reads it back
 */
export function createCursor<T>(list: string, position: z.ZodType<T>): Cursor<T> {
  const schema = z.tuple([z.literal(list), position])
  const write = (at: T) => Buffer.from(JSON.stringify([list, at]), 'utf8').toString('base64url')
  return {
    write,
    read(text) {
      if (text === undefined) return undefined
      const parsed = schema.safeParse(decode(text))
      // One spelling only: base64 readers skip what they do not know.
      if (!parsed.success || write(parsed.data[1]) !== text) throw invalid('/cursor', 'Is not a cursor of this list.')
      return parsed.data[1]
    },
  }
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return null
  }
}

/**
 * Makes a page of the rows of a query that asked for one more than `limit`.
 * @param position where a row stands in the order of the list; it must never change
 */
export function toPage<Row, Item, T>(
  rows: readonly Row[],
  limit: number,
  cursor: Cursor<T>,
  position: (row: Row) => T,
  present: (row: Row) => Item,
): { data: Item[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return { data: shown.map(present), next_cursor: more ? cursor.write(position(last)) : null }
}
