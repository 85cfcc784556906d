import fc from 'fast-check'

/*
 * Requests made from an OpenAPI document: mostly as it says, now and then with one thing wrong, and sometimes anything.
 */

// biome-ignore lint/suspicious/noExplicitAny: a JSON Schema
export type Schema = any

/** Text that has broken servers before. */
const nasty = fc.constantFrom(
  '',
  ' ',
  '\0',
  '\u0000a',
  '\ud800',
  '\uffff',
  '\u202e',
  '💥',
  'a'.repeat(300),
  'a'.repeat(5_000),
  '__proto__',
  'constructor',
  "'; drop table posthorn.event; --",
  '%00',
  '../..',
  '{{7*7}}',
  '-1',
  '1e999',
  'null',
  'posthorn',
  '9999-12-31T23:59:59.999Z',
  '0000-00-00T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '+275760-09-13T00:00:00Z',
)

const numbers = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, -1, 0.5, 2 ** 31, 2 ** 31 - 1, 2 ** 53, 1e300, Number.MIN_VALUE),
)

const anything = fc.oneof(
  nasty,
  numbers,
  fc.constantFrom<unknown>(null, true, false, [], {}),
  fc.jsonValue({ maxDepth: 3 }),
)

/** `calm` is as the schema says, and what a caller would send; else each value may be anything that the schema's type has. */
type Mood = 'calm' | 'wild'

function stringOf(schema: Schema, mood: Mood): fc.Arbitrary<string> {
  const { format, pattern, example, maxLength = 40 } = schema
  const options: fc.Arbitrary<string>[] = []
  if (typeof example === 'string') options.push(fc.constant(example))
  if (format === 'date-time') {
    const times = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9998-01-01') })
    options.push(times.map((time) => time.toISOString()))
    // Some routes look back no farther than events are kept.
    options.push(fc.constant(new Date(Date.now() - 60_000).toISOString()))
  }
  if (format === 'uri') options.push(fc.constantFrom('https://example.com/a', 'https://example.org/?b=c'))
  if (pattern !== undefined) options.push(fc.stringMatching(new RegExp(pattern)).filter((text) => text.length < 100))
  if (options.length === 0) options.push(fc.stringMatching(/^[a-z]{1,8}$/))
  if (mood === 'calm') return fc.oneof(...options)
  options.push(nasty, fc.string({ maxLength: Math.min(maxLength, 60), unit: 'binary' }))
  if (format === 'uri') options.push(fc.webUrl({ withQueryParameters: true, withFragments: true }))
  return fc.oneof(...options)
}

/** A value as the schema says; or, half of the time, one of whose parts some are of its types and others anything. */
export function schemaValue(document: Schema, schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(rightValue(document, schema, 'calm'), partValue(document, schema, 'wild'))
}

function partValue(document: Schema, schema: Schema, mood: Mood): fc.Arbitrary<unknown> {
  const right = rightValue(document, schema, mood)
  return mood === 'calm' ? right : fc.oneof({ arbitrary: right, weight: 11 }, { arbitrary: anything, weight: 1 })
}

function rightValue(document: Schema, given: Schema, mood: Mood): fc.Arbitrary<unknown> {
  if (given?.$ref !== undefined) {
    return referredValue(document, String(given.$ref).split('/').at(-1)!, mood)
  }
  const schema = given ?? {}
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives !== undefined) {
    return fc.oneof(...alternatives.map((each: Schema) => rightValue(document, each, mood)))
  }
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  const types: string[] = schema.type === undefined ? [] : [schema.type].flat()
  if (types.length === 0) return schema.properties === undefined ? anything : objectOf(document, schema, mood)
  return fc.oneof(...types.map((type) => typedValue(document, schema, type, mood)))
}

/** Schemas whose values are being made. */
const open: string[] = []

/** A schema may be of itself: at the second level, only what ends there is made of it. */
function referredValue(document: Schema, name: string, mood: Mood): fc.Arbitrary<unknown> {
  const schema = document.components.schemas[name]
  const inside = open.filter((each) => each === name).length
  const ends = (each: Schema) => !JSON.stringify(each).includes(`"#/components/schemas/${name}"`)
  open.push(name)
  const value = rightValue(document, inside < 2 ? schema : { ...schema, anyOf: schema.anyOf?.filter(ends) }, mood)
  open.pop()
  return value
}

function typedValue(document: Schema, schema: Schema, type: string, mood: Mood): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return stringOf(schema, mood)
    case 'integer':
    case 'number': {
      const [min, max] = [schema.minimum ?? 0, schema.maximum ?? 1_000]
      const within = fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max))
      return mood === 'calm' ? within : fc.oneof(within, fc.constantFrom(min - 1, max + 1), numbers)
    }
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(partValue(document, schema.items ?? {}, mood), {
        minLength: mood === 'calm' ? 1 : 0,
        maxLength: 3,
      })
    default:
      return objectOf(document, schema, mood)
  }
}

function objectOf(document: Schema, schema: Schema, mood: Mood): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  const required: string[] = schema.required ?? []
  const optional = names.filter((name) => !required.includes(name))
  const members = Object.fromEntries(names.map((name) => [name, partValue(document, schema.properties[name], mood)]))
  // Few at a time, or hardly any would be right in all of them.
  const chosen = fc.subarray(optional, { maxLength: Math.min(optional.length, 3) })
  const all = fc.record(members as Record<string, fc.Arbitrary<unknown>>)
  const some = fc.tuple(chosen, all).map(([also, values]) => {
    return Object.fromEntries(Object.entries(values).filter(([name]) => required.includes(name) || also.includes(name)))
  })
  const values = schema.additionalProperties
  const others =
    values && typeof values === 'object'
      ? fc.dictionary(stringOf({}, mood), partValue(document, values, mood), { maxKeys: 3 })
      : fc.constant({})
  const stray = fc.option(fc.dictionary(nasty, anything, { maxKeys: 1 }), { freq: 10, nil: {} })
  return fc.tuple(some, others, mood === 'calm' ? fc.constant({}) : stray).map(([a, b, c]) => ({ ...a, ...b, ...c }))
}

/** The text of a body: the value's JSON, or that with something done to it. */
export function bodyTextOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<string | Uint8Array<ArrayBuffer>> {
  const text = value.map((each) => JSON.stringify(each) ?? 'null')
  return fc.oneof(
    { arbitrary: text, weight: 16 },
    { arbitrary: fc.tuple(text, fc.nat(200)).map(([whole, cut]) => whole.slice(0, cut)), weight: 1 },
    { arbitrary: fc.tuple(text, nasty).map(([whole, more]) => whole + more), weight: 1 },
    { arbitrary: text.map((whole) => whole.replace('{', '{"a":1,"a":2,')), weight: 1 },
    { arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)), weight: 1 },
  )
}

/** What stands in a path in place of a parameter, written for a URL. */
export function segmentOf(known: readonly string[], schema: Schema): fc.Arbitrary<string> {
  const made = stringOf(schema ?? {}, 'wild').map((text) => encodeURIComponent(text.toWellFormed()))
  const raw = fc.constantFrom('%00', '%ff', '%c0%80', '%ed%a0%80', '%2e%2e', '%2F', '%', '%zz', '~', '.', '..', '*')
  return fc.oneof(
    { arbitrary: fc.constantFrom(...known), weight: 6 },
    { arbitrary: made, weight: 2 },
    { arbitrary: raw, weight: 1 },
  )
}
