import { z } from '@hono/zod-openapi'
import { rateOf } from '@posthorn/core'

/** Attempts in a time, counted over all dispatchers. */
export const rateLimitSchema = z
  .strictObject({ limit: z.int().min(1).max(10_000), per_seconds: z.int().min(1).max(3600) })
  .openapi('RateLimit', { example: { limit: 10, per_seconds: 1 } })

export type RateLimit = z.infer<typeof rateLimitSchema>

/** The endpoint's limit as it stands in its row. */
export function readRateLimit(stored: unknown): RateLimit | null {
  return stored as RateLimit | null
}

/**
 * What a rate limit writes to the lane. A change begins with a full bucket; the same limit again leaves the clock alone, or
 * repeating a request would be a way round the limit.
 */
export function changeOfRate(current: RateLimit | null, wanted: RateLimit | null) {
  if (current?.limit === wanted?.limit && current?.per_seconds === wanted?.per_seconds) return {}
  if (wanted === null) return { rateIntervalUs: null, rateBurst: null, rateNext: null }
  const { intervalUs, burst } = rateOf(wanted.limit, wanted.per_seconds)
  return { rateIntervalUs: BigInt(intervalUs), rateBurst: burst, rateNext: null }
}
