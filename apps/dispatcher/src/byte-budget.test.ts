import { beforeEach, expect, test } from 'vitest'
import { type ByteBudget, createByteBudget } from './byte-budget.ts'
import { numbersOf } from './test-numbers.ts'

const small = 10
let budget: ByteBudget
let trusted: Set<string>

beforeEach(() => {
  trusted = new Set(['a', 'b', 'c', 'd', 'e'])
  budget = createByteBudget({ max: 1_000, small, trusts: (lane) => trusted.has(lane) })
})

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)
const admitted = (lane: string, bytes: number, times: number): number =>
  Array.from({ length: times }, () => budget.admit(lane, bytes)).filter(Boolean).length
/** How many a claim of 50 from each asks for. */
const asked = (lanes: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    budget.cut(lanes.map((endpointId) => ({ endpointId, most: 50 }))).map((aim) => [aim.endpointId, aim.most]),
  )

test('small payloads never wait, whatever large ones take', () => {
  for (const lane of ['a', 'b', 'c', 'd']) expect(admitted(lane, 50, 100)).toBe(5)
  expect(budget.admit('e', 50)).toBe(false)
  expect(admitted('e', small, 1_000)).toBe(1_000)
  expect(asked(['e'])).toEqual({ e: 50 })
})

test('a lane has at most a quarter, or one that is larger; and not even that where nothing is left', () => {
  expect(admitted('a', 100, 10)).toBe(2)
  expect([budget.admit('b', 900), budget.admit('b', 20)]).toEqual([true, false])
  expect(budget.admit('c', 900)).toBe(false)
  budget.free('a', 100)
  expect(budget.admit('c', 20)).toBe(false)
  budget.free('b', 900)
  expect([budget.admit('c', 900), budget.admit('a', 50)]).toEqual([true, false])
})

test('lanes that are doubtful leave half to those that are not', () => {
  for (const lane of named('new', 5)) admitted(lane, 100, 2)
  expect(budget.admit('newer', 100)).toBe(false)
  expect(admitted('a', 100, 10)).toBe(2)
  // What hangs now was trusted when it was read.
  trusted.delete('a')
  expect(budget.admit('newer', 100)).toBe(false)
  expect(admitted('b', 100, 10)).toBe(2)
})

test('a claim asks for as many as fit of the size that a lane had lately', () => {
  budget.learn('a', 100)
  expect(asked(['a', 'b'])).toEqual({ a: 2, b: 50 })
  admitted('a', 100, 1)
  expect(asked(['a'])).toEqual({ a: 1 })
  admitted('a', 100, 1)
  expect(asked(['a', 'b'])).toEqual({ b: 50 })
  // One of them, though it is larger than its share.
  budget.learn('b', 400)
  expect(asked(['b'])).toEqual({ b: 1 })
})

test('a claim of many such lanes asks for no more than what is left in all', () => {
  const lanes = named('lane', 30)
  for (const lane of lanes) {
    trusted.add(lane)
    budget.learn(lane, 100)
  }
  expect(Object.values(asked(lanes)).reduce((sum, most) => sum + most, 0)).toBe(10)
  // What is not known yet may be small.
  expect(asked([...lanes, 'unknown'])).toMatchObject({ unknown: 50 })
})

test('what is small again is forgotten to have been large', () => {
  budget.learn('a', 500)
  for (let n = 0; n < 100; n++) budget.learn('a', 1)
  expect(asked(['a'])).toEqual({ a: 50 })
})

test('who waits for room hears when some is free, or in time that none is', async () => {
  budget.take('a', 900)
  expect(await budget.freed(1)).toBe(false)
  const waiting = budget.freed(60_000)
  budget.free('a', 900)
  expect(await waiting).toBe(true)
})

test('whatever happens, large payloads take no more than there is and one more, and all of it is given back', () => {
  const number = numbersOf(1)
  const flying: { lane: string; bytes: number }[] = []
  let used = 0
  for (let round = 0; round < 20_000; round++) {
    const lane = `lane${number(40)}`
    const bytes = 1 + number(number(10) === 0 ? 400 : 60)
    if (number(20) === 0) trusted.add(lane)
    budget.learn(lane, bytes)
    if (budget.admit(lane, bytes)) {
      flying.push({ lane, bytes })
      used += bytes > small ? bytes : 0
    }
    expect(used).toBeLessThan(1_000 + 400)
    for (const one of flying.splice(0, number(3))) {
      budget.free(one.lane, one.bytes)
      used -= one.bytes > small ? one.bytes : 0
    }
  }
  for (const one of flying) budget.free(one.lane, one.bytes)
  for (const lane of ['a', 'b', 'c', 'd']) expect(admitted(lane, 50, 10)).toBe(5)
})
