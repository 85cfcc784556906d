import type { Budget } from './budget.ts'

/*
 * Ajv compares values pair by pair: whether all elements of an array of 1 MiB differ would take minutes. Here each value is
 * written in one spelling, and looked up.
 */

/** Whether all elements differ, in a time linear in their size. */
export function areUnique(items: readonly unknown[], budget: Budget): boolean {
  const seen = new Set<unknown>()
  for (const item of items) {
    budget.spend(4)
    const spelling = spell(item, budget)
    if (seen.has(spelling)) return false
    seen.add(spelling)
  }
  return true
}

/** Whether a value is one of several. */
export function createChoice(values: readonly unknown[], budget: Budget): (value: unknown) => boolean {
  budget.left = Number.POSITIVE_INFINITY
  const spellings = new Set(values.map((value) => spell(value, budget)))
  const flat = !values.some(isComposite)
  return (value) => {
    budget.spend(2)
    return !(flat && isComposite(value)) && spellings.has(spell(value, budget))
  }
}

/** Equal for equal values alone. */
function spell(value: unknown, budget: Budget): unknown {
  if (typeof value === 'string') return `"${value}`
  return isComposite(value) ? write(value, budget) : value
}

function write(value: unknown, budget: Budget): string {
  budget.spend(8)
  if (!isComposite(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((each) => write(each, budget)).join()}]`
  const members = value as Record<string, unknown>
  const keys = Object.keys(members).sort()
  budget.spend(8 * keys.length)
  return `{${keys.map((key) => `${JSON.stringify(key)}:${write(members[key], budget)}`).join()}}`
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
