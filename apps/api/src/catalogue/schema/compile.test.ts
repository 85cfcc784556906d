import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CompiledSchema, createSchemaCompiler } from './compile.ts'
import type { JsonObject } from './outline.ts'

const compiler = createSchemaCompiler()

function compiled(schema: JsonObject): CompiledSchema {
  const result = compiler.compile(schema)
  if (Array.isArray(result)) throw new Error(JSON.stringify(result))
  return result
}

function check(schema: JsonObject, value: unknown) {
  return compiled(schema).check(value, Buffer.byteLength(JSON.stringify(value)), '/payload')
}

describe('what is wrong with a value', () => {
  test('is told for each member by its pointer, the missing one and the one too many among them', () => {
    const schema = {
      type: 'object',
      required: ['id', 'total'],
      properties: {
        id: { type: 'integer' },
        total: { type: 'number', minimum: 0, multipleOf: 0.01 },
        currency: { enum: ['EUR', 'USD'] },
        lines: { type: 'array', minItems: 1, items: { $ref: '#/$defs/line' } },
      },
      additionalProperties: false,
      $defs: {
        line: { type: 'object', required: ['sku'], properties: { sku: { type: 'string', pattern: '^[A-Z]+$' } } },
      },
    }
    expect(check(schema, { id: 1, total: 99.99, currency: 'EUR', lines: [{ sku: 'A' }] })).toEqual([])
    const wrong = { id: 1.5, currency: 'GBP', lines: [{ sku: 'A' }, { sku: 'a' }, {}], 'a/b': 1 }
    expect(check(schema, wrong)).toEqual(
      expect.arrayContaining([
        { path: '/payload/id', message: 'Must be a whole number.' },
        { path: '/payload/total', message: 'Required.' },
        { path: '/payload/currency', message: 'Must be "EUR" or "USD".' },
        { path: '/payload/lines/1/sku', message: 'Must match "^[A-Z]+$".' },
        { path: '/payload/lines/2/sku', message: 'Required.' },
        { path: '/payload/a~1b', message: 'May not be there.' },
      ]),
    )
    expect(check(schema, [])).toEqual([{ path: '/payload', message: 'Must be an object.' }])
  })

  test.each<[string, JsonObject, unknown, string]>([
    ['const', { const: { a: [1] } }, { a: [2] }, 'Must be {"a":[1]}.'],
    ['type', { type: ['string', 'null'] }, 1, 'Must be a string or null.'],
    ['exclusiveMinimum', { exclusiveMinimum: 3 }, 3, 'Must be more than 3.'],
    ['maxLength', { maxLength: 1 }, 'ab', 'Must have at most 1 character.'],
    ['minItems', { minItems: 2 }, [1], 'Must have at least 2 elements.'],
    ['maxProperties', { maxProperties: 1 }, { a: 1, b: 1 }, 'Must have at most 1 member.'],
    [
      'uniqueItems',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'Must have no element twice.',
    ],
    ['format', { format: 'date-time' }, '2026-02-30T00:00:00Z', 'Must be of the format date-time.'],
    ['not', { not: { type: 'string' } }, 'a', 'Matches what it must not.'],
    ['oneOf', { oneOf: [{ minimum: 0 }, { maximum: 9 }] }, 5, 'Must match exactly one of several schemas.'],
    ['enum of objects', { enum: [{ a: 1, b: 2 }] }, { b: 2, a: 2 }, 'Must be {"a":1,"b":2}.'],
    ['a false schema', { properties: { a: false } }, { a: 1 }, 'May not be there.'],
    ['an infinite number', { type: 'number' }, JSON.parse('1e999'), 'Must be a number.'],
  ])('%s is told in words', (_, schema, value, message) => {
    expect(check(schema, value).map((error) => error.message)).toContain(message)
  })

  test('what only looks equal is not, and equal values are, in whatever order', () => {
    const unique = { uniqueItems: true }
    expect(check(unique, [1, '1', true, 'true', null, 'null', [1], '[1]', { a: 1 }, '{"a":1}', ['1']])).toEqual([])
    expect(check(unique, [0, -0])).not.toEqual([])
    expect(check({ enum: [{ a: 1, b: [2] }, 'x'] }, { b: [2], a: 1 })).toEqual([])
    expect(check({ enum: ['{"a":1}'] }, { a: 1 })).not.toEqual([])
  })

  test('members that objects have by themselves are no members of a payload', () => {
    expect(check({ required: ['toString'] }, {})).toEqual([{ path: '/payload/toString', message: 'Required.' }])
    expect(check({ properties: { constructor: { type: 'string' } } }, {})).toEqual([])
  })

  test('two patterns in one schema are two', () => {
    const schema = { properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } }, patternProperties: { '^x': false } }
    expect(check(schema, { a: 'a', b: 'b' })).toEqual([])
    expect(check(schema, { a: 'b', b: 'b' })).toHaveLength(1)
    expect(check(schema, { x1: 1 })).toHaveLength(1)
  })

  test('annotations and unknown formats decide nothing', () => {
    const schema = { title: 'A', format: 'credit-card', 'x-team': 'billing', example: 1, contentMediaType: 'a/b' }
    expect(check(schema, 'anything')).toEqual([])
  })
})

describe('a schema is refused', () => {
  test.each<[string, JsonObject, string, RegExp]>([
    ['that is none', { type: 'objct' }, '/type', /Must be/],
    ['with a slip of the pen', { properties: { a: { require: ['b'] } } }, '/properties/a/require', /no keyword/],
    ['that refers to nowhere', { $ref: '#/$defs/a' }, '/$ref', /no schema/],
    ['that refers to another document', { $ref: 'https://example.com/a.json' }, '/$ref', /in this schema/],
    ['that refers to itself in place', { allOf: [{ $ref: '#' }] }, '', /Comes back/],
    [
      'that refers to itself in a circle',
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
      '/$defs/a',
      /Comes back/,
    ],
    ['with $id', { $id: 'https://example.com/a' }, '/$id', /Leave it out/],
    ['with $dynamicRef', { $dynamicRef: '#a' }, '/$dynamicRef', /\$ref/],
    ['of another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, '/$schema', /2020-12/],
    ['with a pattern that looks around', { pattern: '(?=a)' }, '/pattern', /RE2/],
    ['with a pattern that refers back', { patternProperties: { '(a)\\1': true } }, '/patternProperties/(a)\\1', /RE2/],
    ['with a pattern that is too long', { pattern: 'a'.repeat(1_001) }, '/pattern', /1000/],
    ['with a pattern that is too large', { pattern: '(?:[a-z]{0,400}x[a-z]{0,400}){2}' }, '/pattern', /too large|RE2/],
    ['without a value to choose', { enum: [] }, '/enum', /at least one/],
    ['with a number that no text can give back', { const: Number.POSITIVE_INFINITY }, '/const', /too large/],
    ['of the older items', { items: [{}] }, '/items', /Must be/],
    ['that is too large', { description: 'a'.repeat(65_536) }, '', /65536/],
    ['that is nested too deeply', nest(40, (inner) => ({ items: inner })), '', /deeper|64/],
  ])('%s', (_, schema, path, message) => {
    expect(compiler.compile(schema)).toEqual([{ path, message: expect.stringMatching(message) }])
  })

  test('with too many schemas in it, or too deep through its references', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`p${n}`, { type: 'null' }]))
    expect(compiler.compile({ properties: many })).toMatchObject([{ message: expect.stringMatching(/1000 schemas/) }])
    const chain = Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => [`d${n}`, { items: { $ref: `#/$defs/d${n + 1}` } }]),
    )
    expect(compiler.compile({ $ref: '#/$defs/d0', $defs: { ...chain, d400: {} } })).toMatchObject([
      { message: expect.stringMatching(/150 schemas deep/) },
    ])
  })

  function nest(levels: number, wrap: (inner: JsonObject) => JsonObject): JsonObject {
    let schema: JsonObject = {}
    for (let level = 0; level < levels; level++) schema = { ...wrap(schema), title: 'a', properties: { a: {} } }
    return levels > 32 ? { allOf: [{ allOf: [wrapDeep(schema)] }] } : schema
  }
  function wrapDeep(schema: JsonObject): JsonObject {
    return Array.from({ length: 25 }).reduce<JsonObject>((inner) => ({ not: inner }), schema)
  }
})

describe('what a check may cost is bounded', () => {
  function many<T>(count: number, make: (n: number) => T): T[] {
    return Array.from({ length: count }, (_, n) => make(n))
  }
  /** At random, and the same each time. */
  const letters = (length: number) => {
    let state = 12_345
    const next = () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return (state >> 16) & 1 ? 'a' : 'b'
    }
    return many(length, next).join('')
  }
  const both = (name: string) => ({ properties: { in: { $ref: name } } })

  test.each<[string, JsonObject, unknown]>([
    [
      'references that double at each level',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [both('#/$defs/a'), both('#/$defs/a')] } } },
      many(200, () => 0).reduce<unknown>((inner) => ({ in: inner }), {}),
    ],
    ['a large pattern over a large text', { pattern: '(?:[ab]*a[ab]{300})c' }, letters(500_000)],
    ['a pattern with more states than can be kept', { pattern: 'a[ab]{28}c' }, `c${letters(300_000)}`],
    ['a large one, over a text that is not', { pattern: 'a[ab]{300}c' }, `c${letters(1_400)}`],
    ['many lengths of a large text', { allOf: many(900, () => ({ minLength: 1 })) }, letters(1_000_000)],
    [
      'many named members against many others',
      {
        properties: Object.fromEntries(many(900, (n) => [`p${n}`, {}])),
        additionalProperties: false,
        minProperties: 1,
      },
      Object.fromEntries(many(80_000, (n) => [`p${n}`, 1])),
    ],
    [
      'many choices in many elements',
      { items: { allOf: many(900, (n) => ({ enum: ['a', n] })) } },
      many(250_000, () => 'a'),
    ],
  ])('%s ends as too costly, or as no match, and soon', (_, schema, value) => {
    const schemaCompiled = compiled(schema)
    const bytes = JSON.stringify(value).length
    const before = process.cpuUsage()
    expect(schemaCompiled.check(value, bytes, '/payload')).toMatchObject([
      { path: expect.stringMatching(/^\/payload/) },
    ])
    // A fifth of it at most, of the processor: others may have it meanwhile.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
  })

  test.each<[string, JsonObject, unknown]>([
    ['a million bytes of numbers', { items: { type: 'integer', minimum: 0, maximum: 9 } }, many(500_000, () => 7)],
    [
      'a million bytes of records',
      {
        items: {
          type: 'object',
          required: ['id', 'name'],
          properties: {
            id: { type: 'integer' },
            name: { type: 'string', minLength: 1, maxLength: 99, pattern: '^[a-z0-9 ]+$' },
            tags: { type: 'array', items: { enum: ['a', 'b'] } },
          },
          additionalProperties: false,
        },
      },
      many(20_000, (n) => ({ id: n, name: `name ${n}`, tags: ['a', 'b'] })),
    ],
    ['objects that must differ', { uniqueItems: true }, many(50_000, (n) => ({ n }))],
    [
      'a tree of itself, as deep as may be',
      { type: 'object', properties: { in: { $ref: '#' } }, additionalProperties: false },
      many(499, () => 0).reduce<unknown>((inner) => ({ in: inner }), {}),
    ],
  ])('%s is no trouble', (_, schema, value) => {
    expect(check(schema, value)).toEqual([])
  })
})

test('whatever schema is sent, it is compiled or refused, and whatever it is held against, it answers', () => {
  const name = fc.constantFrom('a', 'b', '$ref', 'type', '__x', 'a/b', '%', '')
  const { schema } = fc.letrec((tie) => {
    const inner = tie('schema')
    const list = fc.array(inner, { minLength: 1, maxLength: 3 })
    const map = fc.dictionary(name, inner, { maxKeys: 2 })
    const keywords: Record<string, fc.Arbitrary<unknown>> = {
      type: fc.constantFrom('object', 'array', 'string', ['null', 'integer']),
      ...Object.fromEntries(['properties', 'dependentSchemas', '$defs', 'definitions'].map((each) => [each, map])),
      ...Object.fromEntries(['anyOf', 'oneOf', 'allOf', 'prefixItems'].map((each) => [each, list])),
      ...Object.fromEntries(['not', 'if', 'then', 'else', 'contains', 'items'].map((each) => [each, inner])),
      ...Object.fromEntries(['unevaluatedItems', 'unevaluatedProperties'].map((each) => [each, inner])),
      additionalProperties: inner,
      propertyNames: inner,
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$', '('), inner, { maxKeys: 1 }),
      dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
      $ref: fc.constantFrom('#', '#/$defs/a', '#/properties/a', '#/$defs/a~1b', '#/$defs/%25', '#/%', '#/', 'a'),
      enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 3 }),
      const: fc.jsonValue({ maxDepth: 1 }),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      uniqueItems: fc.boolean(),
      minContains: fc.nat(3),
      minimum: fc.double(),
      multipleOf: fc.double({ min: -1 }),
      maxLength: fc.integer({ min: -1, max: 5 }),
      pattern: fc.constantFrom('^a', '[', '\\d+', '(?<n>a)', '\\u{61}'),
      format: fc.constantFrom('date-time', 'email', 'unknown', 'constructor'),
    }
    const member: fc.Arbitrary<[string, unknown]> = fc.oneof(
      ...Object.entries(keywords).map(([key, value]) => fc.tuple(fc.constant(key), value)),
    )
    const object = fc.array(member, { maxLength: 4 }).map((members) => Object.fromEntries(members))
    return { schema: fc.oneof({ maxDepth: 4, depthSize: 'small' }, fc.boolean(), object) }
  })
  let held = 0
  fc.assert(
    fc.property(schema, fc.array(fc.jsonValue(), { minLength: 1, maxLength: 3 }), (each, values) => {
      if (typeof each === 'boolean') return
      const result = compiler.compile(each as JsonObject)
      if (Array.isArray(result)) {
        expect(result[0]).toMatchObject({ path: expect.any(String) })
        return
      }
      held += 1
      for (const value of values) {
        for (const error of result.check(value, 100, '/payload')) expect(error.path).toMatch(/^\/payload/)
      }
    }),
    { numRuns: 500 },
  )
  expect(held).toBeGreaterThan(100)
})
