import fc from 'fast-check'

/*
 * Filters and payloads that have something to do with each other: few keys, few values, and among them those that have broken
 * parsers before.
 */

/** JSON texts of scalars: alike and unlike numbers, texts beside each other, what JavaScript rounds and jsonb refuses. */
const scalarTexts = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '1.0',
  '10e-1',
  '-1.50',
  '99.5',
  '1E+3',
  '9007199254740993',
  '9007199254740992',
  '-7615917337495251231',
  '1e-400',
  '1e400',
  '""',
  '"1"',
  '"null"',
  '"a"',
  '"ab"',
  '"Ab"',
  String.raw`"a\u0062"`,
  String.raw`"\"\\\/"`,
  String.raw`"\\u0000"`,
  '"é"',
  String.raw`"e\u0301"`,
  '"\u{1f60a}"',
  String.raw`"\ud83d\ude0a"`,
  '"\uffff"',
  '"2026-01-30T00:00:00Z"',
] as const

/** Only payloads may have them. */
const brokenTexts = [
  String.raw`"\u0000"`,
  String.raw`"a\u0000\\\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"x\udc00\ud83d\ude0a\ud83d"`,
  String.raw`"\\\ud83d\ud83d\ude0a\ude0a"`,
] as const

const keys = [
  'a',
  'b',
  '0',
  '1',
  '01',
  '-',
  '',
  'a/b',
  '~',
  '"',
  '$',
  '@',
  '__proto__',
  'constructor',
  'é',
  '\ufffd',
  '*',
  'a.b',
]

const space = fc.constantFrom('', '', ' ', '\n\t')

/** A payload's JSON text: repeated keys, odd spaces, mixed types. */
export const payloadText: fc.Arbitrary<string> = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    { arbitrary: fc.constantFrom(...scalarTexts, ...brokenTexts), weight: 2 },
    { arbitrary: tie('object'), weight: 3 },
    { arbitrary: tie('array'), weight: 1 },
  ),
  array: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
  object: fc
    .array(fc.tuple(space, fc.constantFrom(...keys, '\0', '\ud800'), space, tie('value')), { maxLength: 4 })
    .map((members) => `{${members.map(([a, key, b, value]) => `${a}${JSON.stringify(key)}${b}:${value}`).join(',')}}`),
})).value

const pointer = fc
  .array(fc.constantFrom(...keys), { maxLength: 3 })
  .map((steps) => steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''))

const scalar = fc.constantFrom(...scalarTexts)
const comparable = scalar.filter((text) => /^["\d-]/.test(text))

const conditionText = fc
  .tuple(
    pointer,
    fc.oneof(
      scalar.map((value) => `"equals":${value}`),
      fc.array(scalar, { minLength: 1, maxLength: 30 }).map((values) => `"in":[${values.join()}]`),
      fc.boolean().map((value) => `"exists":${value}`),
      scalar.filter((text) => text.startsWith('"') && text !== '""').map((value) => `"prefix":${value}`),
      fc
        .tuple(fc.constantFrom('gt', 'gte', 'lt', 'lte'), comparable)
        .map(([operator, value]) => `"${operator}":${value}`),
    ),
    fc.option(
      scalar.map((value) => `"equals":${value}`),
      { freq: 8 },
    ),
  )
  .map(([path, first, second]) => {
    const more = second === null || first.startsWith('"equals"') ? '' : `,${second}`
    return `{"path":${JSON.stringify(path)},${first}${more}}`
  })

/** A filter's JSON text; now and then one that is too costly. */
export const filterText: fc.Arbitrary<string> = fc.letrec<{ filter: string }>((tie) => {
  const several = fc.array(tie('filter'), { minLength: 1, maxLength: 3 })
  return {
    filter: fc.oneof(
      { maxDepth: 3 },
      { arbitrary: conditionText, weight: 3 },
      { arbitrary: several.map((parts) => `{"and":[${parts.join()}]}`), weight: 1 },
      { arbitrary: several.map((parts) => `{"or":[${parts.join()}]}`), weight: 1 },
      { arbitrary: tie('filter').map((part) => `{"not":${part}}`), weight: 1 },
    ),
  }
}).filter
