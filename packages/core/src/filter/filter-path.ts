import { type Comparison, type Filter, type FilterTest, placesOf } from './filter.ts'
import { compareNumbers, compareStrings } from './value-order.ts'

/*
 * A filter as a jsonpath of Postgres, for `payload @@ path`.
 *
 * - Strict, so that nothing is unwrapped: an array is never taken for its elements. Where a path leads nowhere, or to another
 *   type than is compared with, the comparison is unknown, which is no match: `@@` raises nothing, whatever the payload.
 * - Unknown would stay unknown under a `not`. So `not` is moved down to the tests (De Morgan), where it holds for what is false
 *   or unknown.
 * - Numbers are numerics there, and compared digit by digit; texts by their code points.
 * - All that comes from the filter's author is a JSON literal, which is one of jsonpath as well: keys and texts are written
 *   anew by JSON.stringify, numbers are by the grammar of JSON's.
 */

/** The filter as a jsonpath. @param filter within `filterLimits` */
export function filterPath(filter: Filter): string {
  return `strict ${expression(filter, false)}`
}

/** A test by itself, without the `not`s around it. */
export function testPath(path: readonly string[], test: FilterTest): string {
  return `strict ${testExpression(path, test, false)}`
}

/** The places that a path may mean, one jsonpath each: at most one of them leads anywhere. */
export function placePaths(path: readonly string[]): string[] {
  return accessors(path).map((accessor) => `strict ${accessor}`)
}

function expression(filter: Filter, negated: boolean): string {
  switch (filter.kind) {
    case 'not':
      return expression(filter.of, !negated)
    case 'condition':
      return joined(
        filter.tests.map((test) => testExpression(filter.path, test, negated)),
        negated ? '||' : '&&',
      )
    default:
      return joined(
        filter.of.map((each) => expression(each, negated)),
        (filter.kind === 'and') === negated ? '||' : '&&',
      )
  }
}

function testExpression(path: readonly string[], test: FilterTest, negated: boolean): string {
  if (test.op === 'exists') {
    const there = joined(
      accessors(path).map((accessor) => `exists(${accessor})`),
      '||',
    )
    return test.value === negated ? `(${there}) is unknown` : there
  }
  const met = joined(
    accessors(path).map((accessor) => comparison(accessor, test)),
    '||',
  )
  return negated ? `(!(${met}) || (${met}) is unknown)` : met
}

const operators: Record<'equals' | Comparison, string> = { equals: '==', gt: '>', gte: '>=', lt: '<', lte: '<=' }

function comparison(accessor: string, test: Exclude<FilterTest, { op: 'exists' }>): string {
  switch (test.op) {
    case 'in':
      return `exists(${accessor} ? (${membership(test.values)}))`
    case 'prefix':
      return `${accessor} starts with ${test.value}`
    default:
      return `${accessor} ${operators[test.op]} ${test.value}`
  }
}

/** Values that are looked through one by one; more are halved first. */
const fewValues = 4

/** Whether `@` is one of the values: 100 are found in a tenth of the time that comparing with each takes. */
function membership(values: readonly string[]): string {
  const numbers = values.filter((value) => /^[-\d]/.test(value)).sort(compareNumbers)
  const strings = values.filter((value) => value.startsWith('"')).sort(compareStrings)
  // null, true, false: there is no order among them, and no more than three.
  const others = [...new Set(values.filter((value) => /^[a-z]/.test(value)))]
  return [numbers, strings, others]
    .filter((some) => some.length > 0)
    .map(searched)
    .join(' || ')
}

function searched(sorted: readonly string[]): string {
  if (sorted.length <= fewValues) return sorted.map((value) => `@ == ${value}`).join(' || ')
  const middle = sorted.length >> 1
  const [below, from] = [sorted.slice(0, middle), sorted.slice(middle)]
  return `(@ < ${from[0]} && (${searched(below)})) || (@ >= ${from[0]} && (${searched(from)}))`
}

function accessors(path: readonly string[]): string[] {
  return placesOf(path).map((place) =>
    place.reduce<string>(
      (made, step) => made + (typeof step === 'number' ? `[${step}]` : `.${JSON.stringify(step)}`),
      '$',
    ),
  )
}

function joined(parts: readonly string[], operator: '&&' | '||'): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(` ${operator} `)})`
}
