import { expect, test } from 'vitest'
import { latencyOf } from './latency.ts'

test('without a measurement there are no percentiles', () => {
  expect(latencyOf(new Map())).toBeNull()
})

test('of one measurement all are that one', () => {
  expect(latencyOf(new Map([[7, 1]]))).toEqual({ p50: 7, p95: 7, p99: 7 })
})

test('they are by nearest rank, whatever the order of counting', () => {
  const oneToHundred = new Map(Array.from({ length: 100 }, (_, i) => [100 - i, 1]))
  expect(latencyOf(oneToHundred)).toEqual({ p50: 50, p95: 95, p99: 99 })
  const skewed = new Map([
    [30_000, 2],
    [1, 98],
  ])
  expect(latencyOf(skewed)).toEqual({ p50: 1, p95: 1, p99: 30_000 })
})
