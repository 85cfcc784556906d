import type { Filter, FilterTest } from './filter.ts'

/** A test for which a filter is not met. `wanted` is false under a `not`: then it holds, and should not. */
export type Unmet = { path: readonly string[]; test: FilterTest; wanted: boolean }

/**
 * Why a filter is not met; nothing when it is. Of an `or` all alternatives are named, of an `and` those that fail.
 * @param holds what Postgres said of each test by itself
 */
export function unmetTests(filter: Filter, holds: (test: FilterTest) => boolean, wanted = true): Unmet[] {
  switch (filter.kind) {
    case 'not':
      return unmetTests(filter.of, holds, !wanted)
    case 'condition': {
      const each = filter.tests.map((test) => (holds(test) === wanted ? [] : [{ path: filter.path, test, wanted }]))
      return among(each, wanted)
    }
    default: {
      const each = filter.of.map((part) => unmetTests(part, holds, wanted))
      return among(each, (filter.kind === 'and') === wanted)
    }
  }
}

/** Of parts that must all be met, what fails; of those of which one is enough, nothing once one is met. */
function among(parts: readonly Unmet[][], all: boolean): Unmet[] {
  return !all && parts.some((part) => part.length === 0) ? [] : parts.flat()
}

/** What was wanted, in words that follow the place's name: "must be at least 100". */
export function wantedInWords({ test, wanted }: Unmet): string {
  const must = wanted ? 'must' : 'must not'
  switch (test.op) {
    case 'exists':
      return test.value === wanted ? 'must be there' : 'must not be there'
    case 'in':
      return `${must} be one of ${namesInWords(test.values)}`
    case 'prefix':
      return `${must} begin with ${cut(test.value)}`
    default:
      return `${must} be ${comparisonWords[test.op]}${cut(test.value)}`
  }
}

const maxNames = 10
const maxLength = 100

/** The first of them: there may be hundreds, and as many answers that name them. */
export function namesInWords(names: readonly string[]): string {
  const first = names.slice(0, maxNames).map(cut).join(', ')
  return names.length > maxNames ? `${first} and ${names.length - maxNames} more` : first
}

function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text
}

const comparisonWords = { equals: '', gt: 'more than ', gte: 'at least ', lt: 'less than ', lte: 'at most ' } as const
