import { expect, test } from 'vitest'
import { formatDetails, formatNumber, formatTable } from './table.ts'

test('columns line up, numbers to the right', () => {
  const table = formatTable(
    ['scenario', 'value'],
    [
      ['raw', '23,000'],
      ['drain-1000', '9'],
    ],
    [1],
  )
  expect(table.split('\n')).toEqual([
    'scenario     value',
    '──────────  ──────',
    'raw         23,000',
    'drain-1000       9',
  ])
})

test('numbers keep what matters of them', () => {
  expect([13_456.7, 99.456, 0.123456, 0].map(formatNumber)).toEqual(['13,457', '99.46', '0.1235', '0'])
})

test('details are a line each, with records on it', () => {
  expect(formatDetails({ a: 1, latency: { p50_ms: 2.5, max_ms: 9 }, raw: [31_007, 0.5] })).toBe(
    '    a        1\n    latency  p50_ms 2.5  max_ms 9\n    raw      31,007 0.5',
  )
})
