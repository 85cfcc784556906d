import { ExactNumber, type Filter, type FilterTest, parseExactly } from '@posthorn/core'

/*
 * What a filter means, as docs/filters.md says it, over the payload's text: the tests hold Postgres to it. Written apart from what
 * Posthorn runs, and shares with it only how a filter is read.
 */

type Value = null | boolean | string | ExactNumber | Value[] | Map<string, Value>

/** Whether the payload meets the filter. @param payload JSON text */
export function meets(filter: Filter, payload: string): boolean {
  return holds(filter, seen(parseExactly(payload)))
}

function holds(filter: Filter, document: Value): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.of.every((each) => holds(each, document))
    case 'or':
      return filter.of.some((each) => holds(each, document))
    case 'not':
      return !holds(filter.of, document)
    case 'condition':
      return filter.tests.every((test) => passes(test, at(document, filter.path)))
  }
}

/** As filters see a value: what jsonb cannot hold of a text is U+FFFD, and of a repeated key the last counts. */
function seen(value: unknown): Value {
  if (typeof value === 'string') return mended(value)
  if (Array.isArray(value)) return value.map(seen)
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
    return new Map(Object.entries(value).map(([key, member]) => [mended(key), seen(member)]))
  }
  return value as Value
}

function mended(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** What is at a JSON pointer (RFC 6901); undefined where it leads nowhere. */
function at(document: Value, path: readonly string[]): Value | undefined {
  let here: Value | undefined = document
  for (const step of path) {
    if (Array.isArray(here)) here = /^(?:0|[1-9][0-9]*)$/.test(step) ? here[Number(step)] : undefined
    else here = here instanceof Map ? here.get(step) : undefined
  }
  return here
}

function passes(test: FilterTest, here: Value | undefined): boolean {
  if (test.op === 'exists') return (here !== undefined) === test.value
  if (here === undefined) return false
  if (test.op === 'in') return test.values.some((value) => compared(here, value) === 0)
  if (test.op === 'prefix') return typeof here === 'string' && here.startsWith(JSON.parse(test.value) as string)
  const order = compared(here, test.value)
  if (order === null) return false
  if (test.op === 'equals') return order === 0
  if (test.op === 'gt') return order > 0
  if (test.op === 'gte') return order >= 0
  return test.op === 'lt' ? order < 0 : order <= 0
}

/** Null for values of unlike types. */
function compared(here: Value, json: string): number | null {
  const value = parseExactly(json)
  if (here instanceof ExactNumber && value instanceof ExactNumber) return comparedNumbers(here.text, value.text)
  if (typeof here === 'string' && typeof value === 'string') {
    // UTF-8 orders as code points do.
    return Buffer.compare(Buffer.from(here), Buffer.from(value))
  }
  if (here === null || typeof here === 'boolean') return here === value ? 0 : null
  return null
}

function comparedNumbers(a: string, b: string): number {
  const [x, y] = [decimal(a), decimal(b)]
  const places = Math.max(x.places, y.places, 0)
  const [m, n] = [x, y].map((each) => each.digits * 10n ** BigInt(places - each.places)) as [bigint, bigint]
  return m < n ? -1 : m > n ? 1 : 0
}

/** digits / 10^places */
function decimal(text: string): { digits: bigint; places: number } {
  const [mantissa = '', exponent = '0'] = text.split(/e/i)
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}
