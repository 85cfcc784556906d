import { expect, test } from 'vitest'
import { describeSteadiness } from './steadiness.ts'

const measureMs = 30_000
/** A thousand a second. */
const due = Float64Array.from({ length: 30_000 }, (_, at) => 5_000 + at)

test('what comes a little later than it is due is steady', () => {
  const steady = describeSteadiness(
    due,
    due.map((at) => at + 20),
    measureMs,
  )
  expect(steady.keptUp).toBeCloseTo(1, 4)
  expect(steady.backlogAtThird).toBeCloseTo(20, 0)
  expect(steady.backlogAtEnd).toBeCloseTo(20, 0)
  // The last twenty come too late.
  expect(steady.receivedPerSecond).toBeCloseTo(29_980 / 30, 0)
})

test('what is received at nine tenths of the pace lags behind', () => {
  const lagging = describeSteadiness(
    due,
    due.map((at) => 5_000 + (at - 5_000) / 0.9),
    measureMs,
  )
  expect(lagging.keptUp).toBeCloseTo(0.9, 2)
  expect(lagging.receivedPerSecond).toBeCloseTo(900, 0)
  expect(lagging.backlogAtThird).toBeLessThan(lagging.backlogAtTwoThirds)
  expect(lagging.backlogAtTwoThirds).toBeLessThan(lagging.backlogAtEnd)
})

test('the order of arrival is of no account', () => {
  const late = due.map((at) => at + 20)
  expect(describeSteadiness(due, late.toReversed(), measureMs)).toEqual(describeSteadiness(due, late, measureMs))
})
