import { expect, test } from 'vitest'
import { type ClaimMode, createClaimMode } from './claim-mode.ts'

type Costs = { safe: number; fast: number }

/** Claims one lane at a time at these costs. @returns the milliseconds spent in each way */
function spend(mode: ClaimMode, costs: Costs, turns: number): Costs {
  const spent = { safe: 0, fast: 0 }
  for (let turn = 0; turn < turns; turn++) {
    const way = mode.next()
    spent[way] += costs[way]
    mode.record(way, costs[way], 1)
  }
  return spent
}

test('the first claim looks from the safe watermark', () => {
  expect(createClaimMode().next()).toBe('safe')
})

test('while safe costs no more it is taken, but for a look at the other now and then', () => {
  const spent = spend(createClaimMode(), { safe: 2, fast: 2 }, 1_000)
  expect(spent.fast).toBeGreaterThan(0)
  expect(spent.fast).toBeLessThan(0.05 * spent.safe)
})

test.each([
  [2, 0.1],
  [3, 5],
  [20, 1],
  [100, 0.5],
  [500, 5],
])('safe at %d times the cost of fast is taken for a twentieth of the time, and never not at all', (times, fast) => {
  const mode = createClaimMode()
  const costs = { safe: times * fast, fast }
  spend(mode, costs, 10)
  const spent = spend(mode, costs, 40_000)
  expect(spent.safe / (spent.fast + spent.safe)).toBeLessThan(0.06)
  expect(spent.safe).toBeGreaterThan(0)
})

test('when safe is cheap again it is taken again', () => {
  const mode = createClaimMode()
  spend(mode, { safe: 100, fast: 2 }, 2_000)
  spend(mode, { safe: 2, fast: 2 }, 10_000)
  const spent = spend(mode, { safe: 2, fast: 2 }, 1_000)
  expect(spent.safe).toBeGreaterThan(spent.fast)
})

test('one stall of the database does not keep claims from safe for long', () => {
  const mode = createClaimMode()
  spend(mode, { safe: 2, fast: 2 }, 100)
  expect(mode.next()).toBe('safe')
  mode.record('safe', 600_000, 1)
  const spent = spend(mode, { safe: 2, fast: 2 }, 60_000)
  expect(spent.safe).toBeGreaterThan(0)
})

test('what is saved up while safe costs nothing extra is not spent at once when it does', () => {
  const mode = createClaimMode()
  spend(mode, { safe: 2, fast: 2 }, 100_000)
  const spent = spend(mode, { safe: 50, fast: 2 }, 1_000)
  expect(spent.safe).toBeLessThan(1_500)
})
