import { expect, it } from 'vitest'
import { boundHeaders } from './response-capture.ts'

it('NUL is removed, for Postgres cannot store it', () => {
  expect(boundHeaders({ 'x-a': 'b\0c', 'x-d\0': ['\0', 'e'] })).toEqual([
    ['x-a', 'bc'],
    ['x-d', ''],
    ['x-d', 'e'],
  ])
})

it('at most 64 pairs, and 8 KiB of names and values', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'v']))
  expect(boundHeaders(many)).toHaveLength(64)
  expect(boundHeaders({ a: 'v'.repeat(8_191), b: 'v' })).toHaveLength(1)
  expect(boundHeaders({ a: 'v'.repeat(8_192), b: 'v' })).toEqual([])
})
