/** A check took more steps than its payload's size allows. */
export class BudgetSpent extends Error {
  override name = 'BudgetSpent'
}

/**
 * Counts the steps of a check, so that the same payload always gets the same answer, however busy the machine is. A check is
 * one synchronous call, so all compiled schemas share one.
 */
export type Budget = {
  left: number
  /** @throws BudgetSpent */
  spend(steps: number): void
}

export function createBudget(): Budget {
  return {
    left: 0,
    spend(steps) {
      this.left -= steps
      if (this.left < 0) throw new BudgetSpent()
    },
  }
}

const stepsForAny = 100_000
const stepsForAByte = 8

/**
 * Steps that a check of so many bytes may take. A schema takes some steps for each value in a payload, and a value has two bytes
 * at least; only one that goes over the same values again and again needs more.
 */
export function stepsFor(bytes: number): number {
  return stepsForAny + stepsForAByte * bytes
}
