import { beforeEach, expect, test } from 'vitest'
import { type Allotment, type Bulkhead, createBulkhead } from './bulkhead.ts'
import type { LaneAim } from './lane-book.ts'
import { numbersOf } from './test-numbers.ts'

let nowMs: number
let tickets: number
let bulkhead: Bulkhead

function open(concurrency: number): void {
  nowMs = 1_000_000
  tickets = 0
  bulkhead = createBulkhead({ concurrency, now: () => nowMs })
}

beforeEach(() => open(256))

const aim = (endpointId: string) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })
const named = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)

function take(endpointId: string, count: number): string[] {
  return Array.from({ length: count }, () => {
    const ticket = String(tickets++)
    bulkhead.take(endpointId, ticket)
    return ticket
  })
}

function prove(endpointId: string): void {
  for (const ticket of take(endpointId, 1)) bulkhead.land(endpointId, ticket, 'good')
}

const sumOf = (allotment: Record<string, number>): number =>
  Object.values(allotment).reduce((sum, most) => sum + most, 0)

function finished(allotment: Allotment): LaneAim[] {
  allotment.end()
  return allotment.aims
}

const allotted = (ids: readonly string[], limit = 200): Record<string, number> =>
  Object.fromEntries(finished(bulkhead.allot(ids.map(aim), limit)).map((each) => [each.endpointId, each.most!]))

test('one lane has at most a quarter of the slots, however well it does', () => {
  prove('a')
  expect(allotted(['a'])).toEqual({ a: 64 })
  const flying = take('a', 64)
  expect(allotted(['a'])).toEqual({})
  bulkhead.land('a', flying[0]!, 'good')
  expect(allotted(['a'])).toEqual({ a: 1 })
})

test('lanes that never answered leave a quarter of the slots to those that have', () => {
  prove('good')
  const dead = named('dead', 10)
  for (const id of dead) take(id, 18)
  expect(allotted(['new', 'newer', 'newest', 'good'])).toEqual({ new: 4, newer: 4, newest: 4, good: 64 })
  expect(sumOf(allotted(named('new', 40)))).toBe(12)
  for (const id of dead.slice(0, 6)) take(id, 2)
  expect(allotted(['new', 'good'])).toEqual({ good: 64 })
})

test('lanes whose last attempt failed hold at most an eighth, and leave the share of the unproven to others', () => {
  prove('good')
  const dead = named('dead', 40)
  for (const id of dead) for (const ticket of take(id, 1)) bulkhead.land(id, ticket, 'bad')
  expect(sumOf(allotted(dead))).toBe(32)
  for (const id of dead.slice(0, 32)) take(id, 1)
  expect(allotted([...dead, 'new', 'good'])).toEqual({ new: 4, good: 64 })
  bulkhead.land('dead0', '41', 'good')
  expect(allotted(['dead0', 'dead1'])).toMatchObject({ dead1: 1 })
})

test('lanes that hang hold at most half', () => {
  const hung = named('hung', 7)
  for (const id of hung) take(id, 18)
  nowMs += 1_001
  // 126 are taken by slow lanes; the rest of the half is 2.
  expect(allotted([hung[0]!, hung[1]!, hung[2]!])).toEqual({ hung0: 1, hung1: 1 })
  expect(allotted(['new'])).toEqual({ new: 4 })
  take(hung[0]!, 2)
  expect(allotted(hung)).toEqual({})
})

test('a lane is slow only while an attempt is older than a second and none has succeeded for ten', () => {
  take('a', 130)
  nowMs += 900
  expect(allotted(['b'])).toEqual({ b: 4 })
  prove('a')
  nowMs += 9_000
  const [lately] = take('hung', 1)
  take('hung', 63)
  nowMs += 1_500
  // Both are slow now, and hold more than half.
  expect(allotted(['hung', 'a'])).toEqual({})
  bulkhead.land('hung', lately!, 'good')
  expect(allotted(['hung'])).toEqual({ hung: 1 })
})

test('what is left of a share is parted among the lanes that draw on it', () => {
  for (const id of named('dead', 10)) take(id, 18)
  expect(allotted(['x', 'y', 'z', 'w'])).toEqual({ x: 3, y: 3, z: 3, w: 3 })
  expect(Object.values(allotted(named('n', 20)))).toEqual(Array.from({ length: 12 }, () => 1))
})

test('a lane begins with four at once, has two while its last attempt failed, and its share once one succeeded', () => {
  expect(allotted(['a'])).toEqual({ a: 4 })
  const [first, second, third] = take('a', 3)
  expect(allotted(['a'])).toEqual({ a: 1 })
  bulkhead.land('a', first!, 'bad')
  expect(allotted(['a'])).toEqual({})
  bulkhead.land('a', second!, 'bad')
  expect(allotted(['a'])).toEqual({ a: 1 })
  bulkhead.land('a', third!, 'good')
  expect(allotted(['a'])).toEqual({ a: 64 })
})

test('a claim has at most a quarter of its rows from lanes that prove nothing', () => {
  const fresh = named('new', 60)
  expect(sumOf(allotted(fresh))).toBe(50)
  expect(sumOf(allotted(fresh, 80))).toBe(20)
  prove('good')
  expect(allotted([...fresh, 'good'], 80)).toMatchObject({ good: 64 })
})

test('what a claim under way may take is taken, for another beside it', () => {
  open(64)
  const first = bulkhead.allot(named('a', 12).map(aim), 48)
  expect(first.aims.map(({ most }) => most)).toEqual(Array.from({ length: 12 }, () => 1))
  for (const id of named('dead', 9)) take(id, 4)
  // Three quarters of 64 are 48; 36 fly, and 12 are allotted.
  expect(allotted(['b'])).toEqual({})
  first.end()
  expect(allotted(['b'])).toEqual({ b: 4 })
})

test('a dispatcher of one slot still makes attempts', () => {
  open(1)
  expect(allotted(['a'], 1)).toEqual({ a: 1 })
  take('a', 1)
  nowMs += 5_000
  expect(allotted(['a', 'b'], 1)).toEqual({})
})

test('faults of ours prove nothing', () => {
  prove('a')
  for (const ticket of take('a', 1)) bulkhead.land('a', ticket, 'unknown')
  for (const id of named('dead', 10)) take(id, 20)
  expect(allotted(['a'])).toEqual({ a: 64 })
})

test('whatever happens, no share is exceeded, and a lane that has proved itself always finds its own', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const number = numbersOf(seed * 7_919)
    const concurrency = 8 + number(400)
    open(concurrency)
    prove('good')
    const flying: { id: string; ticket: string }[] = []
    for (let round = 0; round < 30; round++) {
      nowMs += number(3_000)
      const ids = [...new Set(Array.from({ length: 1 + number(20) }, () => `lane${number(40)}`))]
      let free = Math.min(200, concurrency - flying.length)
      if (free > 0) {
        for (const [id, most] of Object.entries(allotted(ids, free))) {
          const count = Math.min(most, free)
          free -= count
          for (const ticket of take(id, count)) flying.push({ id, ticket })
        }
      }
      const perLane = new Map<string, number>()
      for (const { id } of flying) perLane.set(id, (perLane.get(id) ?? 0) + 1)
      expect(Math.max(0, ...perLane.values())).toBeLessThanOrEqual(concurrency >> 2)
      if (flying.length < concurrency) expect(allotted(['good'], 1)).toEqual({ good: 1 })
      const health = (['good', 'bad', 'unknown'] as const)[number(3)]!
      for (const { id, ticket } of flying.splice(0, number(60))) bulkhead.land(id, ticket, health)
    }
  }
})
