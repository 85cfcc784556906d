import { expect, test } from 'vitest'
import { type Breaker, closedBreaker, settleBreaker } from './breaker.ts'

/*
 * A day of a lane whose receiver goes up and down, on a simulated clock: one attempt a quarter of a second while the breaker
 * lets it, each over before the next.
 */

const dayMs = 86_400_000

function live(isUpAt: (ms: number) => boolean) {
  let breaker: Breaker = closedBreaker
  let random = 1
  const counts = { attempts: 0, failures: 0, trips: 0, closings: 0, longestBlockMs: 0, disabled: false }
  for (let nowMs = 0; nowMs < dayMs; nowMs += 250) {
    if ((breaker.blockedUntilMs ?? 0) > nowMs) continue
    const up = isUpAt(nowMs)
    random = (random * 48_271) % 2_147_483_647
    const made = settleBreaker(
      breaker,
      {
        successes: up ? 1 : 0,
        failures: up ? 0 : 1,
        failuresSinceSuccess: up ? 0 : 1,
        probeFailed: !up && breaker.probing,
        throttled: false,
        laneWaitMs: 0,
      },
      { nowMs, maxInFlight: 20, disableAfterMs: 5 * dayMs, random: () => random / 2_147_483_647 },
    )
    counts.attempts++
    if (!up) counts.failures++
    if (made.change === 'tripped') counts.trips++
    if (made.change === 'closed') counts.closings++
    counts.longestBlockMs = Math.max(counts.longestBlockMs, (made.breaker.blockedUntilMs ?? 0) - nowMs)
    counts.disabled ||= made.disable
    breaker = made.breaker
  }
  return counts
}

test('down all day: some hundred attempts instead of 345,600, and it is not disabled', () => {
  const day = live(() => false)
  expect(day.attempts).toBeLessThan(150)
  expect(day.attempts).toBeGreaterThan(80)
  expect(day).toMatchObject({ trips: 1, closings: 0, disabled: false })
  expect(day.longestBlockMs).toBeLessThanOrEqual(1_080_000)
})

test('half an hour up, five minutes down: it is found up again each time, and little is spent on it while it is down', () => {
  const day = live((ms) => ms % 2_100_000 < 1_800_000)
  expect(day.trips).toBe(41)
  expect(day.closings).toBe(41)
  // Ten to trip, then probes at 5, 15, 35, 75 and 155 s.
  expect(day.failures).toBeLessThan(41 * 17)
  // A block is never much longer than the trouble was: of 20.5 hours up at least 17 are used.
  expect(day.attempts - day.failures).toBeGreaterThan(17 * 14_400)
  expect(day.disabled).toBe(false)
})

test('five minutes up, five down: as often as not its block outlasts the next five, and still it is not given up', () => {
  const day = live((ms) => Math.floor(ms / 300_000) % 2 === 0)
  expect(day.trips).toBeGreaterThan(60)
  expect(day.closings).toBeGreaterThanOrEqual(day.trips - 1)
  expect(day.failures).toBeLessThan(day.trips * 19)
  expect(day.attempts - day.failures).toBeGreaterThan(50_000)
  expect(day.disabled).toBe(false)
})

test('four failures and one success all day: it is held back all day', () => {
  let turn = 0
  const day = live(() => ++turn % 5 === 0)
  expect(day.trips).toBeGreaterThan(100)
  expect(day.failures).toBeLessThan(345_600 / 10)
  expect(day.disabled).toBe(false)
})

test('up all day but for one attempt in a hundred: never tripped', () => {
  let turn = 0
  expect(live(() => ++turn % 100 !== 0)).toMatchObject({ trips: 0, attempts: 345_600 })
})
