import { z } from '@hono/zod-openapi'

/** A time as the contract writes it: RFC 3339, UTC, milliseconds. */
export function writeTime(time: Date): string {
  return time.toISOString()
}

export function writeTimeOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString()
}

/** In answers. */
export const timeSchema = z.string().openapi({ format: 'date-time', example: '2026-01-31T09:30:00.000Z' })

// Postgres and JavaScript both hold these years, and a TypeID's 48 bits of milliseconds too.
const earliest = Date.UTC(1970, 0, 1)
const latest = Date.UTC(9999, 0, 1)
const withSeconds = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/

/** A time in a request: RFC 3339 with any offset; digits past milliseconds are cut off. */
export const timeInput = z
  .string()
  .max(64)
  .refine((text) => parseTime(text) !== null, { error: 'Must be a time as RFC 3339 writes it, from 1970 to 9998.' })
  .transform((text) => parseTime(text)!)
  .openapi({ type: 'string', format: 'date-time', example: '2026-01-31T09:30:00Z' })

const isoTime = z.iso.datetime({ offset: true })

/** @returns null for what is no RFC 3339 time, or does not exist on the calendar */
export function parseTime(text: string): Date | null {
  const upper = text.toUpperCase()
  if (!withSeconds.test(upper) || !isoTime.safeParse(upper).success) return null
  const time = new Date(upper)
  const ms = time.getTime()
  return ms >= earliest && ms < latest ? time : null
}
