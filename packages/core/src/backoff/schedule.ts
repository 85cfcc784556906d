/**
 * Seconds to wait after each failed attempt: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. With the first
 * attempt at once, ten attempts in about three days: the example of Standard Webhooks 1.0.0.
 */
export const defaultSchedule: readonly number[] = Object.freeze([
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
])

/** What a schedule may hold, wherever it is set. */
export const scheduleLimits = Object.freeze({ maxEntries: 20, maxEntrySeconds: 604_800 })

const jitter = 0.2

/**
 * How long to wait before the next attempt, in milliseconds: the schedule's entry, 20 % more or less at random, so that
 * the failures of one outage do not all come back in one second.
 *
 * @param schedule seconds, e.g. `[5, 300]`; empty for a single attempt
 * @param step which entry: 0 after the first attempt
 * @param random a number from 0 to 1, as `Math.random` gives
 * @returns null when the schedule is used up
 * @throws RangeError for a step, an entry or a random number that cannot be
 */
export function delayAfter(schedule: readonly number[], step: number, random: () => number): number | null {
  if (!Number.isInteger(step) || step < 0) throw new RangeError(`no schedule has a step ${step}`)
  if (step >= schedule.length) return null
  const seconds = schedule[step]!
  // Held here as well as at the API: NaN or a huge delay would make a timer fire at once, or a time out of range.
  if (!(seconds >= 0 && seconds <= scheduleLimits.maxEntrySeconds)) {
    throw new RangeError(`no schedule waits ${seconds} seconds`)
  }
  const share = random()
  if (!(share >= 0 && share <= 1)) throw new RangeError(`not a random number from 0 to 1: ${share}`)
  return Math.round(seconds * 1000 * (1 - jitter + 2 * jitter * share))
}
