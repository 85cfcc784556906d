import { expect, test } from 'vitest'
import { mean, median, percentile, rounded, spread } from './statistics.ts'

test('the median is the middle one, and of an even number the mean of the two', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([10, 1, 2, 3])).toBe(2.5)
  expect(median([7])).toBe(7)
  expect(() => median([])).toThrow(RangeError)
})

test('the median leaves its values in their order', () => {
  const values = [3, 1, 2]
  median(values)
  expect(values).toEqual([3, 1, 2])
})

test('mean and spread', () => {
  expect(mean([1, 2, 6])).toBe(3)
  expect(spread([90, 100, 120])).toBeCloseTo(0.3)
  expect(spread([5])).toBe(0)
  expect(spread([0, 0])).toBe(0)
})

test('rounding keeps the significant digits, and every digit before the point', () => {
  expect(rounded(0.351234)).toBe(0.3512)
  expect(rounded(13_456.78)).toBe(13_457)
  expect(rounded(0)).toBe(0)
  expect(rounded(12.3456, 3)).toBe(12.3)
})

test('a percentile is the lowest value that so large a part lies at or below', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect([0.5, 0.99, 0.999, 1].map((part) => percentile(hundred, part))).toEqual([50, 99, 100, 100])
  expect(percentile([7], 0.99)).toBe(7)
  expect(percentile([], 0.99)).toBeNaN()
})
