import { expect, test } from 'vitest'
import { createRateSearch } from './rate-search.ts'

test.each([300, 4_990, 5_000, 9_000])('from 5,000 it comes close below %i', (limit) => {
  const search = createRateSearch(5_000)
  for (let probe = 0; probe < 20; probe++) search.report(search.next() <= limit)
  expect(search.best()).toBeLessThanOrEqual(limit)
  expect(search.best()).toBeGreaterThan(limit * 0.95)
})

test('while nothing is kept up with there is no best, and lower rates are tried', () => {
  const search = createRateSearch(1_000)
  search.report(false)
  expect(search.best()).toBeNull()
  expect(search.next()).toBeLessThan(1_000)
})
