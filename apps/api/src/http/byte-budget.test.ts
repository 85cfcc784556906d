import { expect, test } from 'vitest'
import { createByteBudget } from './byte-budget.ts'

test('bodies are taken up to the bound together, and given back whole', () => {
  const budget = createByteBudget(100)
  const [first, second, third] = [budget.open(), budget.open(), budget.open()]
  expect([first.take(40), second.take(60), third.take(0)]).toEqual([true, true, true])
  second.close()
  second.close()
  expect(third.take(60)).toBe(true)
})

test('one body goes past the bound, keeps no room from others, and no second one goes with it', () => {
  const budget = createByteBudget(100)
  const [large, second, third] = [budget.open(), budget.open(), budget.open()]
  expect([large.take(90), large.take(500), large.take(500)]).toEqual([true, true, true])
  expect([budget.fits(100), budget.fits(101)]).toEqual([true, false])
  expect([second.take(100), third.take(1)]).toEqual([true, false])
  large.close()
  expect(budget.fits(1_000)).toBe(true)
  expect(third.take(1_000)).toBe(true)
  expect(second.take(1)).toBe(false)
  for (const holding of [second, third]) holding.close()
  expect(budget.open().take(100)).toBe(true)
})
