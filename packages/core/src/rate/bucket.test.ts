import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rateOf, takeTokens, tokensIn, waitForTokens } from './bucket.ts'

test.each([
  [10, 1, 100_000, 2],
  [1, 60, 60_000_000, 1],
  [3, 1, 333_334, 1],
  [1_000, 1, 1_000, 101],
  [10_000, 3_600, 360_000, 1],
])('%i in %i s is a token each %i us, and %i at once', (limit, perSeconds, intervalUs, burst) => {
  expect(rateOf(limit, perSeconds)).toEqual({ intervalUs, burst })
})

const rates = fc
  .record({ limit: fc.integer({ min: 1, max: 10_000 }), perSeconds: fc.integer({ min: 1, max: 3_600 }) })
  .map(({ limit, perSeconds }) => ({ limit, perSeconds, rate: rateOf(limit, perSeconds) }))

/** Claims at these moments, each of as much as it may. @returns how many were taken by when */
function claimAt(rate: ReturnType<typeof rateOf>, momentsUs: readonly number[], want: number) {
  let next = 0
  return momentsUs.map((nowUs) => {
    const taken = Math.min(want, tokensIn(rate, next - nowUs))
    next = nowUs + takeTokens(rate, next - nowUs, taken)
    return { nowUs, taken, waitMs: waitForTokens(rate, next - nowUs) }
  })
}

test('whenever it is asked, it never gives more than the limit and one burst over any stretch of time', () => {
  fc.assert(
    fc.property(rates, fc.array(fc.integer({ min: 0, max: 3_000_000 }), { maxLength: 60 }), (made, pauses) => {
      let at = 0
      const moments = pauses.map((pause) => {
        at += pause
        return at
      })
      const claims = claimAt(made.rate, moments, 1_000_000)
      for (let from = 0; from < claims.length; from++) {
        let taken = 0
        for (let to = from; to < claims.length; to++) {
          taken += claims[to]!.taken
          const seconds = (claims[to]!.nowUs - claims[from]!.nowUs) / 1_000_000
          expect(taken).toBeLessThanOrEqual((seconds * made.limit) / made.perSeconds + made.rate.burst + 1e-6)
        }
      }
    }),
  )
})

test('asked when it says, there is a token, and over time nothing of the limit is lost', () => {
  fc.assert(
    fc.property(rates, ({ rate, limit, perSeconds }) => {
      let next = 0
      let nowUs = 0
      let taken = 0
      for (let turn = 0; turn < 500; turn++) {
        const tokens = tokensIn(rate, next - nowUs)
        expect(tokens).toBeGreaterThan(0)
        taken += tokens
        next = nowUs + takeTokens(rate, next - nowUs, tokens)
        const waitMs = waitForTokens(rate, next - nowUs)
        expect(waitMs).toBeGreaterThan(0)
        nowUs += waitMs * 1000
      }
      const most = (nowUs / 1_000_000) * (limit / perSeconds)
      // Waits are whole milliseconds; where tokens come faster, the bucket holds what came meanwhile.
      const lost = rate.burst === 1 ? 1000 / rate.intervalUs : 0.02
      expect(taken).toBeGreaterThanOrEqual(most * (1 - lost) - 1)
    }),
  )
})

test('an unhurried claim of one at a time finds the bucket full, and takes one', () => {
  const rate = rateOf(100, 1)
  expect(tokensIn(rate, -5_000_000)).toBe(rate.burst)
  expect(takeTokens(rate, -5_000_000, 1)).toBe(rate.intervalUs)
  expect(waitForTokens(rate, 0)).toBe(0)
})
