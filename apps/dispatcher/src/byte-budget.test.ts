import { expect, test } from 'vitest'
import { createByteBudget } from './byte-budget.ts'

test('as many fit as have the size of the largest lately, and one where nothing is in flight', () => {
  const budget = createByteBudget(1_000)
  expect(budget.fits()).toBe(1_000)
  budget.take(100)
  expect([budget.left(), budget.fits()]).toEqual([900, 9])
  budget.take(1_500)
  expect([budget.left(), budget.fits()]).toEqual([-600, 0])
  budget.free(1_500)
  budget.free(100)
  expect([budget.left(), budget.fits(), budget.most()]).toEqual([1_000, 1, 1])
})

test('what is small again is forgotten to have been large', () => {
  const budget = createByteBudget(1_000)
  budget.take(500)
  budget.free(500)
  for (let n = 0; n < 2_000; n++) {
    budget.take(1)
    budget.free(1)
  }
  expect(budget.fits()).toBeGreaterThan(500)
})

test('who waits for room has it once half is free, or hears in time that there is none', async () => {
  const budget = createByteBudget(1_000)
  expect(await budget.room(1_000)).toBe(true)
  budget.take(900)
  expect(await budget.room(1)).toBe(false)
  const waiting = budget.room(60_000)
  budget.free(300)
  budget.free(200)
  expect(await waiting).toBe(true)
})
