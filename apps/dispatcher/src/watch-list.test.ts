import { expect, test } from 'vitest'
import { createWatchList } from './watch-list.ts'

test('a lane is watched from a failure, or a claim that says so, until a claim says that it is not', () => {
  const list = createWatchList()
  expect(list.has('a')).toBe(false)
  list.failed('a')
  expect(list.has('a')).toBe(true)
  list.read('a', true)
  expect(list.has('a')).toBe(true)
  list.read('a', false)
  expect(list.has('a')).toBe(false)
  list.read('b', true)
  expect([list.has('a'), list.has('b')]).toEqual([false, true])
})
