import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Breaker,
  type BreakerStep,
  blockMs,
  breakerLimits,
  closedBreaker,
  isWatched,
  settleBreaker,
  type Tally,
} from './breaker.ts'

const dayMs = 86_400_000
const disableAfterMs = 5 * dayMs
const half = () => 0.5

const tally = (part: Partial<Tally>): Tally => ({
  successes: 0,
  failures: 0,
  failuresSinceSuccess: part.failures ?? 0,
  probeFailed: false,
  throttled: false,
  laneWaitMs: 0,
  ...part,
})
const good = tally({ successes: 1, failuresSinceSuccess: 0 })
const bad = tally({ failures: 1 })
const probeBad = tally({ failures: 1, probeFailed: true })

function step(breaker: Breaker, what: Tally, nowMs = 0, maxInFlight = 20): BreakerStep {
  return settleBreaker(breaker, what, { nowMs, maxInFlight, disableAfterMs, random: half })
}

/** Settles of one attempt each, `F` or `S`, a second apart, until one changes the breaker. */
function run(pattern: string, repeats: number): { changedAt: number | null; breaker: Breaker } {
  let breaker: Breaker = closedBreaker
  for (let at = 0; at < pattern.length * repeats; at++) {
    const made = step(breaker, pattern[at % pattern.length] === 'F' ? bad : good, at * 1000)
    breaker = made.breaker
    if (made.change !== null) return { changedAt: at + 1, breaker }
  }
  return { changedAt: null, breaker }
}

/** A lane that has just tripped for the first time, at 0. */
const tripped = step(closedBreaker, tally({ failures: 10 })).breaker

describe('trips', () => {
  test.each([
    ['F', 10],
    ['FFFFS', 21],
    ['FS', 21],
    ['FFS', 20],
  ])('%s repeated trips after %i attempts', (pattern, after) => {
    expect(run(pattern, 40)).toMatchObject({ changedAt: after, breaker: { probing: true, trips: 1 } })
  })

  test.each([['S'], ['FSS'], ['FFSSS'], ['FFFFFFFFFSSSSSSSSSSSSSSSSSSSS']])('%s repeated does not', (pattern) => {
    expect(run(pattern, 500).changedAt).toBeNull()
  })

  test('a rate over a minute is not made of failures far apart', () => {
    let breaker: Breaker = closedBreaker
    for (let hour = 0; hour < 200; hour++) {
      for (const what of [bad, bad, good]) breaker = step(breaker, what, hour * 3_600_000).breaker
      expect(breaker.probing).toBe(false)
    }
  })

  test('ten failures in one settle are ten in a row, unless a success came between', () => {
    expect(step(closedBreaker, tally({ failures: 10 })).change).toBe('tripped')
    expect(step(closedBreaker, tally({ successes: 1, failures: 10, failuresSinceSuccess: 3 })).breaker).toMatchObject({
      failuresInARow: 3,
      probing: false,
    })
  })
})

describe('while open and half open', () => {
  test('failures of attempts that were in flight prolong nothing, before and after the block has passed', () => {
    for (const nowMs of [1_000, tripped.blockedUntilMs! + 1]) {
      const late = step(tripped, tally({ failures: 5 }), nowMs)
      expect(late).toMatchObject({ change: null, breaker: { trips: 1, blockedUntilMs: tripped.blockedUntilMs } })
      expect(late.breaker.failuresInARow).toBe(15)
    }
  })

  test('the failed probe blocks the lane for twice as long; one that comes while it is blocked does not', () => {
    const nowMs = tripped.blockedUntilMs!
    const again = step(tripped, probeBad, nowMs)
    expect(again).toMatchObject({ change: null, breaker: { probing: true, trips: 2, blockedUntilMs: nowMs + 10_000 } })
    expect(step(again.breaker, probeBad, nowMs + 1).breaker.trips).toBe(2)
  })

  test('a success closes it once the block has passed, and only counts before', () => {
    expect(step(tripped, good, 10)).toMatchObject({
      change: null,
      breaker: { probing: true, failuresInARow: 0, failingSinceMs: null, blockedUntilMs: tripped.blockedUntilMs },
    })
    expect(step(tripped, good, tripped.blockedUntilMs!)).toEqual({
      change: 'closed',
      disable: false,
      breaker: { ...closedBreaker, rampCap: 2 },
    })
  })

  test('after it closed, the cap doubles with each settle of successes until it holds nothing back', () => {
    let { breaker } = step(tripped, good, tripped.blockedUntilMs!)
    const caps: (number | null)[] = []
    for (let at = 0; at < 5; at++) {
      caps.push(breaker.rampCap)
      breaker = step(breaker, good, 100_000).breaker
    }
    expect(caps).toEqual([2, 4, 8, 16, null])
    expect(isWatched(breaker)).toBe(false)
    expect(step(tripped, good, tripped.blockedUntilMs!, 2).breaker.rampCap).toBeNull()
  })
})

test('throttling halves the cap, once a settle, never below one; successes give it back', () => {
  const slow = tally({ failures: 1, throttled: true, laneWaitMs: 7_000 })
  let breaker: Breaker = closedBreaker
  const caps: (number | null)[] = []
  for (let at = 0; at < 6; at++) {
    const made = step(breaker, slow, at)
    expect(made.breaker.blockedUntilMs).toBe(at + 7_000)
    breaker = made.breaker
    caps.push(breaker.rampCap)
  }
  expect(caps).toEqual([10, 5, 2, 1, 1, 1])
  expect(step(breaker, good, 20_000).breaker.rampCap).toBe(2)
  // A cap that was lowered below the ramp holds.
  expect(step({ ...closedBreaker, rampCap: 16 }, slow, 0, 4).breaker.rampCap).toBe(2)
})

test('disabled only by a failure, and only when nothing has succeeded for the whole time', () => {
  const failing = step(closedBreaker, bad).breaker
  expect(step(failing, bad, disableAfterMs).disable).toBe(false)
  expect(step(failing, bad, disableAfterMs + 1).disable).toBe(true)
  expect(step(failing, good, disableAfterMs + 1).disable).toBe(false)
  const mixed = tally({ successes: 1, failures: 3, failuresSinceSuccess: 3 })
  expect(step(failing, mixed, disableAfterMs + 1)).toMatchObject({
    disable: false,
    breaker: { failingSinceMs: disableAfterMs + 1 },
  })
})

describe('properties', () => {
  const tallies = fc
    .record({
      successes: fc.integer({ min: 0, max: 30 }),
      failures: fc.integer({ min: 0, max: 30 }),
      tail: fc.integer({ min: 0, max: 30 }),
      probeFailed: fc.boolean(),
      throttled: fc.boolean(),
      laneWaitMs: fc.constantFrom(0, 0, 1_000, 3_600_000),
    })
    .filter((x) => x.successes + x.failures > 0)
    .map(({ tail, ...rest }) =>
      tally({
        ...rest,
        failuresSinceSuccess: rest.successes > 0 ? Math.min(tail, rest.failures) : rest.failures,
        probeFailed: rest.probeFailed && rest.failures > 0,
        throttled: rest.throttled && rest.failures > 0,
      }),
    )
  const history = fc.array(fc.record({ tally: tallies, pauseMs: fc.integer({ min: 0, max: 200_000 }) }), {
    maxLength: 60,
  })

  test('a healthy lane never trips: fewer than half fail, and never ten in a row', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 200 }), (counts) => {
        let breaker: Breaker = closedBreaker
        counts.forEach((failures, at) => {
          const made = step(
            breaker,
            tally({ successes: failures + 1, failures, failuresSinceSuccess: failures }),
            at * 500,
          )
          expect(made.change).toBeNull()
          breaker = made.breaker
        })
      }),
    )
  })

  test('whatever comes: the block is capped, the cap is in bounds, and nothing is left of a closed one', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 1000 }), (steps, maxInFlight) => {
        let breaker: Breaker = closedBreaker
        let nowMs = 0
        for (const { tally: what, pauseMs } of steps) {
          nowMs += pauseMs
          const made = settleBreaker(breaker, what, { nowMs, maxInFlight, disableAfterMs, random: Math.random })
          const { breaker: after } = made
          expect((after.blockedUntilMs ?? 0) - nowMs).toBeLessThanOrEqual(3_600_000)
          if (after.rampCap !== null) {
            expect(after.rampCap).toBeGreaterThanOrEqual(1)
            expect(after.rampCap).toBeLessThanOrEqual(Math.max(1, maxInFlight))
          }
          expect(after.windowFailures).toBeLessThanOrEqual(after.windowAttempts)
          expect(after.probing).toBe(after.trips > 0)
          if (made.change === 'closed') expect(after).toMatchObject({ trips: 0, windowStartedAtMs: null })
          if (what.successes > 0) expect(made.disable).toBe(false)
          breaker = after
        }
      }),
    )
  })

  test('blocks grow with each trip and are capped', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0, max: 1, noNaN: true }), (trips, share) => {
        const ms = blockMs(trips, () => share)
        expect(ms).toBeGreaterThanOrEqual(4_000)
        expect(ms).toBeLessThan(breakerLimits.longestBlockMs * 1.201)
        expect(blockMs(trips + 1, () => share)).toBeGreaterThanOrEqual(ms)
      }),
    )
  })

  test('a lane that fails more is never held back less', () => {
    fc.assert(
      fc.property(history, tallies, (steps, last) => {
        let breaker: Breaker = closedBreaker
        let nowMs = 0
        for (const { tally: what, pauseMs } of steps) {
          nowMs += pauseMs
          breaker = step(breaker, what, nowMs).breaker
        }
        const better = step(breaker, last, nowMs)
        const worse = step(
          breaker,
          { ...last, failures: last.failures + 1, failuresSinceSuccess: last.failuresSinceSuccess + 1 },
          nowMs,
        )
        if (better.change === 'tripped') expect(worse.change).toBe('tripped')
        expect(worse.breaker.blockedUntilMs ?? 0).toBeGreaterThanOrEqual(better.breaker.blockedUntilMs ?? 0)
        expect(worse.breaker.failuresInARow).toBeGreaterThanOrEqual(better.breaker.failuresInARow)
      }),
    )
  })

  test('a blip, however hard, followed by a success never disables', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let breaker: Breaker = closedBreaker
        let nowMs = 0
        for (const { tally: what, pauseMs } of steps) {
          // A success at least once in four days.
          nowMs += 4 * dayMs
          breaker = step(breaker, good, nowMs).breaker
          nowMs += pauseMs
          const made = step(breaker, what, nowMs)
          expect(made.disable).toBe(false)
          breaker = made.breaker
        }
      }),
    )
  })
})
