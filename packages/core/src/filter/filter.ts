/**
 * A filter over an event's payload, as docs/filters.md has it: read, and bounded (filter-read.ts).
 *
 * It is decided by Postgres alone, at publish: filter-path.ts writes it as what Postgres runs. Nothing here looks at a payload.
 */
export type Filter =
  | { kind: 'and' | 'or'; of: readonly Filter[] }
  | { kind: 'not'; of: Filter }
  | { kind: 'condition'; path: readonly string[]; tests: readonly FilterTest[] }

/** One thing that is asked of one place of the payload. `at` is where it stands in the filter. Values are JSON text. */
export type FilterTest = { at: readonly (string | number)[] } & (
  | { op: 'equals' | 'prefix' | Comparison; value: string }
  | { op: 'in'; values: readonly string[] }
  | { op: 'exists'; value: boolean }
)

export const comparisons = ['gt', 'gte', 'lt', 'lte'] as const
export type Comparison = (typeof comparisons)[number]

export const filterLimits = {
  /** Bytes of JSON text, without white space. */
  bytes: 8_192,
  /** Levels of and, or and not. */
  depth: 10,
  /** See `costOf`. */
  cost: 12,
  /** Values of one `in`. */
  values: 100,
  /** Characters of a path, and steps of it. */
  pathLength: 512,
  pathSteps: 30,
  /** Characters of a text that is compared with. */
  textLength: 1_024,
  /** Characters of a number, and how far its exponent goes. */
  numberLength: 400,
  exponent: 400,
} as const

/**
 * The places of a payload that a path may mean: a step of digits is an element's place in an array, or a key of an object
 * (RFC 6901 leaves it to what is found there). Each number stands for an element, each text for a key.
 */
export function placesOf(path: readonly string[]): (string | number)[][] {
  let places: (string | number)[][] = [[]]
  for (const step of path) {
    places = places.flatMap((place) =>
      elementPattern.test(step)
        ? [
            [...place, Number(step)],
            [...place, step],
          ]
        : [[...place, step]],
    )
  }
  return places
}

/** As RFC 6901 has them, within what Postgres counts to. */
const elementPattern = /^(?:0|[1-9][0-9]{0,8})$/

/**
 * What deciding a filter takes, in looks into the payload, of some 0.3 us: for each test at each place that its path may mean, one
 * for each five steps of the path and one for each twelve values of an `in`; and twice that under a `not`. So bounded that ten
 * thousand of the costliest filters are decided in some 40 ms.
 */
export function costOf(filter: Filter, negated = false): number {
  switch (filter.kind) {
    case 'not':
      return costOf(filter.of, !negated)
    case 'condition':
      return filter.tests.reduce((sum, test) => sum + costOfTest(filter.path, test, negated), 0)
    default:
      return filter.of.reduce((sum, each) => sum + costOf(each, negated), 0)
  }
}

function costOfTest(path: readonly string[], test: FilterTest, negated: boolean): number {
  const places = 2 ** path.filter((step) => elementPattern.test(step)).length
  const looks = Math.max(1, Math.ceil(path.length / 5))
  const values = test.op === 'in' ? Math.floor(test.values.length / 12) : 0
  return places * (looks + values) * (negated && test.op !== 'exists' ? 2 : 1)
}

/** All tests, in the order in which they stand. */
export function testsOf(filter: Filter): { path: readonly string[]; test: FilterTest }[] {
  switch (filter.kind) {
    case 'not':
      return testsOf(filter.of)
    case 'condition':
      return filter.tests.map((test) => ({ path: filter.path, test }))
    default:
      return filter.of.flatMap(testsOf)
  }
}
