import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRequestRate } from './request-rate.ts'

function atClock(options: { perSecond: number; burst: number; maxKeys?: number }) {
  const clock = { ms: 1_000 }
  return { clock, rate: createRequestRate({ maxKeys: 100, ...options, now: () => clock.ms }) }
}

test('a full bucket gives its burst, then one each interval, and says how long to wait', () => {
  const { clock, rate } = atClock({ perSecond: 10, burst: 3 })
  expect([rate.take('a'), rate.take('a'), rate.take('a')]).toEqual([0, 0, 0])
  expect(rate.take('a')).toBe(100)
  clock.ms += 60
  expect(rate.take('a')).toBe(40)
  clock.ms += 40
  expect(rate.take('a')).toBe(0)
  expect(rate.take('a')).toBe(100)
  // Another key has a bucket of its own.
  expect(rate.take('b')).toBe(0)
})

test('what is given back can be taken again', () => {
  const { rate } = atClock({ perSecond: 1, burst: 1 })
  expect(rate.take('a')).toBe(0)
  rate.giveBack('a')
  expect(rate.take('a')).toBe(0)
  expect(rate.take('a')).toBe(1_000)
  rate.giveBack('never taken')
})

test('no time holds more than the rate and one burst', () => {
  const steps = fc.array(fc.record({ afterMs: fc.nat(400), asks: fc.nat(20) }), { maxLength: 50 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), steps, (perSecond, burst, given) => {
      const { clock, rate } = atClock({ perSecond, burst })
      const began = clock.ms
      let taken = 0
      for (const { afterMs, asks } of given) {
        clock.ms += afterMs
        for (let i = 0; i < asks; i++) if (rate.take('a') === 0) taken++
        expect(taken).toBeLessThanOrEqual(burst + ((clock.ms - began) * perSecond) / 1_000 + 1e-6)
      }
    }),
  )
})

test('it remembers so many keys and no more, the least recently used going first', () => {
  const { rate } = atClock({ perSecond: 1, burst: 1, maxKeys: 2 })
  for (const key of ['a', 'b']) rate.take(key)
  expect(rate.take('a')).toBeGreaterThan(0)
  rate.take('c')
  expect(rate.take('b')).toBeGreaterThan(0)
  expect(rate.take('a')).toBe(0)
})
