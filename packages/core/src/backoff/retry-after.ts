/** The longest wait that a receiver can ask for: 24 h, in milliseconds. */
export const maxRetryAfterMs = 86_400_000

const seconds = /^[0-9]+(?:\.[0-9]+)?$/
const imfFixdate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/
const dayName = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)$/

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date in IMF-fixdate. Decimal seconds are taken too, since
 * receivers send them. What cannot be read is ignored; of several values, repeated or joined by commas, the longest wait
 * counts.
 *
 * @param value the header's value or values
 * @param now the time from which a date is counted
 * @returns milliseconds from 0 to `maxRetryAfterMs`; 0 for a time already past; null when nothing could be read. Never
 * to be used alone: the wait is the longer of this and the schedule's.
 */
export function parseRetryAfter(value: string | readonly string[] | undefined, now: Date): number | null {
  if (value === undefined) return null
  let longest: number | null = null
  for (const line of typeof value === 'string' ? [value] : value) {
    for (const item of itemsOf(line)) {
      const delayMs = delayOf(item, now)
      if (delayMs !== null && (longest === null || delayMs > longest)) longest = delayMs
    }
  }
  return longest
}

/** The items of a line, parted at its commas, but for the comma after the day of a date. */
function itemsOf(line: string): string[] {
  const items: string[] = []
  for (const part of line.split(',')) {
    const last = items.at(-1)
    if (last !== undefined && dayName.test(last)) items[items.length - 1] = `${last}, ${part.trim()}`
    else items.push(part.trim())
  }
  return items
}

function delayOf(item: string, now: Date): number | null {
  // Any number of digits may come: what overflows is Infinity, and the cap takes that too.
  if (seconds.test(item)) return Math.min(Math.ceil(Number(item) * 1000), maxRetryAfterMs)
  if (!imfFixdate.test(item)) return null
  const date = new Date(item)
  // Dates that do not exist (31 February, a wrong day of the week) are moved or refused by Date: only what it writes
  // back the same is taken.
  if (Number.isNaN(date.getTime()) || date.toUTCString() !== item) return null
  return Math.min(Math.max(0, date.getTime() - now.getTime()), maxRetryAfterMs)
}
