import { expect, test } from 'vitest'
import { describeLatency } from './latencies.ts'

test('percentiles are those of the differences, to three digits', () => {
  const from = Array.from({ length: 1_000 }, (_, n) => n * 10)
  const latency = describeLatency(
    from,
    from.map((at, n) => at + n + 1),
  )
  const wanted = { p50_ms: 500, p90_ms: 900, p99_ms: 990, p999_ms: 999, max_ms: 1_000 }
  for (const [name, value] of Object.entries(wanted)) {
    expect(Math.abs(latency[name as keyof typeof latency] - value) / value).toBeLessThan(0.001)
  }
})

test('a stall counts in full', () => {
  expect(describeLatency([0, 1, 2], [1, 2, 30_002]).max_ms).toBeCloseTo(30_000, -2)
})

test('one that never came is no measurement', () => {
  expect(() => describeLatency([0, 1], [5, Number.NaN])).toThrow('the end of measurement 1 is not known')
})
