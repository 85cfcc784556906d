import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxRetryAfterMs, parseRetryAfter } from './retry-after.ts'
import { defaultSchedule, delayAfter } from './schedule.ts'

const anySchedule = fc.array(fc.nat(604_800), { maxLength: 20 })
const anyShare = fc.double({ min: 0, max: 1, noNaN: true })

describe('delayAfter', () => {
  test('the default schedule makes ten attempts in about three days', () => {
    const total = defaultSchedule.reduce((sum, seconds) => sum + seconds, 0)
    expect(defaultSchedule).toHaveLength(9)
    expect(total).toBe(75 * 3_600 + 35 * 60 + 5)
  })

  test('waits the entry of the schedule, a fifth more or less', () => {
    fc.assert(
      fc.property(anySchedule, fc.nat(25), anyShare, (schedule, step, share) => {
        const delay = delayAfter(schedule, step, () => share)
        const seconds = schedule[step]
        if (seconds === undefined) {
          expect(delay).toBeNull()
          return
        }
        expect(delay).toBeGreaterThanOrEqual(seconds * 800)
        expect(delay).toBeLessThanOrEqual(seconds * 1200)
        expect(Number.isSafeInteger(delay)).toBe(true)
      }),
    )
  })

  test('spreads over the whole of it', () => {
    expect(delayAfter([100], 0, () => 0)).toBe(80_000)
    expect(delayAfter([100], 0, () => 0.5)).toBe(100_000)
    expect(delayAfter([100], 0, () => 1)).toBe(120_000)
  })

  test('a zero entry is no wait, an empty schedule a single attempt', () => {
    expect(delayAfter([0], 0, Math.random)).toBe(0)
    expect(delayAfter([], 0, Math.random)).toBeNull()
    expect(delayAfter([5], 1, Math.random)).toBeNull()
  })

  test.each([
    [[Number.NaN], 0, 0.5],
    [[Number.POSITIVE_INFINITY], 0, 0.5],
    [[-1], 0, 0.5],
    [[604_801], 0, 0.5],
    [[5], -1, 0.5],
    [[5], 0.5, 0.5],
    [[5], Number.NaN, 0.5],
    [[5], 0, Number.NaN],
    [[5], 0, 2],
  ])('throws for what cannot be, and never gives NaN: %j, %d, %d', (schedule, step, share) => {
    expect(() => delayAfter(schedule, step, () => share)).toThrow(RangeError)
  })
})

describe('parseRetryAfter', () => {
  const now = new Date('2026-03-01T12:00:00.250Z')

  test.each<[string | string[] | undefined, number | null]>([
    [undefined, null],
    ['', null],
    [' ', null],
    ['0', 0],
    ['30', 30_000],
    [' 30 ', 30_000],
    ['030', 30_000],
    ['120.5', 120_500],
    ['0.0001', 1],
    ['30, 60', 60_000],
    ['60,30', 60_000],
    ['30, soon', 30_000],
    [['5', '10'], 10_000],
    [['10', 'x', '5'], 10_000],
    [[], null],
    ['86400', maxRetryAfterMs],
    ['86401', maxRetryAfterMs],
    ['9999999999', maxRetryAfterMs],
    ['1e30', null],
    ['Infinity', null],
    ['NaN', null],
    ['-5', null],
    ['+5', null],
    ['0x10', null],
    ['.5', null],
    ['5.', null],
    ['5s', null],
    ['٣', null],
    ['Fri, 31 Dec 9999 23:59:59 GMT', maxRetryAfterMs],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 29_750],
    ['Sun, 01 Mar 2026 12:00:30 GMT, 10', 29_750],
    ['10, Sun, 01 Mar 2026 12:00:30 GMT', 29_750],
    ['Mon, 01 Mar 2026 12:00:30 GMT', null],
    ['Sun, 1 Mar 2026 12:00:30 GMT', null],
    ['Sun, 01 mar 2026 12:00:30 GMT', null],
    ['Sun, 01 Mar 2026 12:00:30 UTC', null],
    ['Sun, 01 Mar 2026 12:00:30 +0000', null],
    ['Tue, 31 Feb 2026 12:00:30 GMT', null],
    ['Sun, 01 Mar 2026 25:00:30 GMT', null],
    ['Sunday, 01-Mar-26 12:00:30 GMT', null],
    ['Sun Mar  1 12:00:30 2026', null],
    ['2026-03-01T12:00:30Z', null],
  ])('reads %j as %j', (value, delayMs) => {
    expect(parseRetryAfter(value, now)).toBe(delayMs)
  })

  test('reads 8 KB of anything', () => {
    expect(parseRetryAfter('9'.repeat(8_192), now)).toBe(maxRetryAfterMs)
    expect(parseRetryAfter('0'.repeat(8_192), now)).toBe(0)
    expect(parseRetryAfter(','.repeat(8_192), now)).toBeNull()
    expect(parseRetryAfter('Mon,'.repeat(2_048), now)).toBeNull()
  })

  test('gives null or a whole number from 0 to the cap, whatever comes', () => {
    const anyValue = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.date().map((date) => date.toUTCString()),
    )
    fc.assert(
      fc.property(fc.oneof(anyValue, fc.array(anyValue)), (value) => {
        const delay = parseRetryAfter(value, now)
        if (delay !== null) expect(Number.isInteger(delay) && delay >= 0 && delay <= maxRetryAfterMs).toBe(true)
      }),
    )
  })

  test('a date is honoured to the second, wherever in the second it is read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_000 }), (seconds) => {
        const date = new Date(now.getTime() - now.getMilliseconds() + seconds * 1000)
        expect(parseRetryAfter(date.toUTCString(), now)).toBe(Math.max(0, seconds * 1000 - 250))
      }),
    )
  })
})
