import { parseDuration } from '@posthorn/core/duration'
import { InvalidArgumentError } from 'commander'
import { printable } from './output.ts'
import { UsageError } from './usage-error.ts'

const timePattern = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/i

/** A time in the past: `2h` ago, or RFC 3339. A day alone is its beginning, in UTC. */
export function timeAgo(text: string): string {
  return readTime(text, -1)
}

/** A time to come: in `10m`, or RFC 3339. */
export function timeAhead(text: string): string {
  return readTime(text, 1)
}

function readTime(text: string, way: 1 | -1): string {
  const seconds = parseDuration(text)
  if (seconds !== null) return new Date(Date.now() + way * seconds * 1_000).toISOString()
  const at = timePattern.test(text) ? new Date(text) : null
  if (at === null || Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError(
      'Write a duration, such as 90s, 30m, 2h or 5d, or a time, such as 2026-01-30T12:00:00Z.',
    )
  }
  return at.toISOString()
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`Write a whole number from ${min} to ${max}.`)
  }
}

/** A JSON object. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError('Write a JSON object.')
}

/** Several in one, by commas, or by giving the option again. */
export function listOf(text: string, before: string[] = []): string[] {
  const names = text.split(',').map((each) => each.trim())
  if (names.includes('')) throw new InvalidArgumentError('Write names with commas between them.')
  return [...before, ...names]
}

export type DeliveryName = { event: string; endpoint: string }

/**
 * A delivery's name is the pair: `evt_.../ep_...`, or an endpoint's uid behind the slash.
 * @throws UsageError
 */
export function deliveryName(text: string): DeliveryName {
  const slash = text.indexOf('/')
  if (slash <= 0 || slash === text.length - 1) {
    throw new UsageError(
      `a delivery is named evt_.../ep_..., as \`posthorn deliveries\` shows it: ${printable(text.slice(0, 200))} is none`,
    )
  }
  return { event: text.slice(0, slash), endpoint: text.slice(slash + 1) }
}
