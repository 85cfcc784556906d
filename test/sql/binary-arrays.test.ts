import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bigints,
  booleans,
  byteas,
  integers,
  smallints,
  texts,
  uuids,
} from '../../packages/core/src/db/binary-arrays.ts'
import { useBench } from './claim-fixture.ts'

/*
 * What the server makes of each array, against the same elements sent as text.
 */

const bench = useBench()

type Encode<T> = (items: readonly (T | null)[], of: (item: T | null) => T | null) => Buffer | null

async function same<T>(type: string, encode: Encode<T>, values: (T | null)[], asText: (value: T) => string | Buffer) {
  const { rows } = await bench.pool.query<{ made: string[] | null }>({
    text: `select (select array_agg(x::text order by o) from unnest($1::${type}[]) with ordinality u(x, o)) as made`,
    values: [encode(values, (value) => value)],
  })
  const { rows: expected } = await bench.pool.query<{ made: string[] | null }>({
    text: `select (select array_agg(x::text order by o) from unnest($1::${type}[]) with ordinality u(x, o)) as made`,
    values: [values.map((value) => (value === null ? null : asText(value)))],
  })
  // Nothing but nulls is null, which `unnest` beside others pads.
  expect(rows[0]!.made).toEqual(values.every((value) => value === null) ? null : expected[0]!.made)
}

const kinds: { [name: string]: () => Promise<unknown> } = {
  boolean: () => run('boolean', booleans, fc.boolean(), String),
  smallint: () => run('smallint', smallints, fc.integer({ min: -32_768, max: 32_767 }), String),
  integer: () => run('integer', integers, fc.integer(), String),
  bigint: () =>
    run(
      'bigint',
      bigints,
      fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
      String,
    ),
  text: () =>
    run(
      'text',
      texts,
      fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0')),
      (text) => text,
    ),
  bytea: () => run('bytea', byteas, fc.uint8Array(), (bytes) => `\\x${Buffer.from(bytes).toString('hex')}`),
  uuid: () => run('uuid', uuids, fc.uuid(), String),
}

function run<T>(type: string, encode: Encode<T>, arbitrary: fc.Arbitrary<T>, asText: (value: T) => string | Buffer) {
  return fc.assert(
    fc.asyncProperty(fc.array(fc.option(arbitrary, { freq: 4 }), { maxLength: 40 }), (values) =>
      same(type, encode, values, asText),
    ),
    { numRuns: 60 },
  )
}

test.each(Object.keys(kinds))('an array of %s arrives as it would as text, nulls included', async (name) => {
  await kinds[name]!()
})

test('what fits no element is refused before it is sent', () => {
  expect(() => smallints([32_768], (value) => value)).toThrow(RangeError)
  expect(() => integers([2 ** 31], (value) => value)).toThrow(RangeError)
  expect(() => integers([1.5], (value) => value)).toThrow(RangeError)
  expect(() => bigints([1.5], (value) => value)).toThrow(RangeError)
  expect(() => bigints(['9223372036854775808'], (value) => value)).toThrow(RangeError)
  expect(() => uuids(['018f4e1c-0000-7000-8000-00000000000g'], (value) => value)).toThrow(RangeError)
  expect(() => uuids(['short'], (value) => value)).toThrow(RangeError)
})

test('half a character becomes a mark, as in all text that is written', () => {
  expect(
    texts(['a\ud800'], (value) => value)!
      .subarray(24)
      .toString(),
  ).toBe('a\ufffd')
})
