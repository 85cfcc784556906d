import { z } from '@hono/zod-openapi'

/** Where a row stands in a list by time of creation, then name: neither ever changes. Unix milliseconds. */
export const creationPosition = z.tuple([z.int().min(0).max(253_402_300_799_999), z.string().max(128)])

/** The rows behind a position, newest first, the name deciding within a millisecond. */
export function byCreation<K extends string>(name: K, after: z.infer<typeof creationPosition> | undefined) {
  if (after === undefined) return {}
  const createdAt = new Date(after[0])
  const behind = { [name]: { lt: after[1] } } as Record<K, { lt: string }>
  return { OR: [{ createdAt: { lt: createdAt } }, { createdAt, ...behind }] }
}

/** `since` (inclusive) and `until` (exclusive). */
export function createdWithin(query: { since?: Date | undefined; until?: Date | undefined }) {
  if (query.since === undefined && query.until === undefined) return {}
  return {
    createdAt: {
      ...(query.since === undefined ? {} : { gte: query.since }),
      ...(query.until === undefined ? {} : { lt: query.until }),
    },
  }
}
