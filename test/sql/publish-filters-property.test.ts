import { randomUUID } from 'node:crypto'
import { filterPath, readFilter, testsOf, unmetTests } from '@posthorn/core'
import { matchEvents } from '@posthorn/core/sql'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { filterText, payloadText } from '../support/filter-arbitrary.ts'
import { meets } from '../support/filter-model.ts'
import { useBench } from './claim-fixture.ts'
import { addFiltered, publishInSql, publishLikeApi, readFilterOf } from './filter-fixture.ts'

const bench = useBench()

/** What is too costly is refused when it is registered, and never gets here. */
const cheapFilterText = filterText.filter((text) => !('faults' in readFilter(text)))

test('API, SQL, the explanation and what the documents say agree on every filter and payload', {
  timeout: 120_000,
}, async () => {
  let met = 0
  let unmet = 0
  const property = fc.asyncProperty(
    fc.array(cheapFilterText, { minLength: 1, maxLength: 12 }),
    fc.array(payloadText, { minLength: 1, maxLength: 8 }),
    async (filters, payloads) => {
      const tenant = `t-${randomUUID()}`
      const ids = await addFiltered(bench.pool, tenant, filters)
      const expected = payloads.map((payload) => filters.map((filter) => meets(readFilterOf(filter).filter, payload)))
      for (const publish of [publishLikeApi, publishInSql]) {
        const owed = await publish(bench.pool, tenant, payloads)
        expect(owed.map((to) => ids.map((id) => to.has(id)))).toEqual(expected)
      }
      for (const [place, id] of ids.entries()) {
        const last = await matchEvents(bench.pool, tenant, id, { last: payloads.length })
        // Newest first.
        for (const [at, answer] of last!.answers.toReversed().entries()) {
          const wanted = expected[at]![place]!
          expect(answer.filterMet, `${filters[place]} ${payloads[at]}`).toBe(wanted)
          const tests = testsOf(last!.filter!).map((each) => each.test)
          const why = unmetTests(last!.filter!, (each) => answer.holds[tests.indexOf(each)]!)
          expect(why.length === 0, `${filters[place]} ${payloads[at]}`).toBe(wanted)
          if (wanted) met++
          else unmet++
        }
      }
    },
  )
  await fc.assert(property, { numRuns: 60 })
  expect(Math.min(met, unmet)).toBeGreaterThan((met + unmet) / 10)
})

test('whatever text a filter has in paths and values, Postgres looks for that very text', {
  timeout: 60_000,
}, async () => {
  const nasty = fc.constantFrom(
    '"',
    '\\',
    '\\"',
    "'",
    '$',
    '@',
    '||',
    '&&',
    ')',
    '==',
    '*',
    '**',
    '[*]',
    '.',
    '?',
    '\n',
    '\r',
    '\t',
    '\b',
    '\x7f',
    '\x01',
    '\u2028',
    '\u{1f60a}',
    '\ufffe',
    '\u0301',
    '/',
    '~',
    '%',
    '\\u0041',
    '\\x41',
    '" == "',
    '" || 1 == 1 || "a',
  )
  const text = fc
    .oneof(
      fc.array(nasty, { maxLength: 6 }).map((parts) => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 20 }),
    )
    .map((each) => each.toWellFormed().replaceAll('\0', ''))
  const property = fc.asyncProperty(
    fc.array(fc.tuple(text, text, text), { minLength: 20, maxLength: 20 }),
    async (triples) => {
      const rows = triples.flatMap(([key, value, other]) => {
        const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
        const payload = JSON.stringify(Object.fromEntries([[key, value]]))
        const of = (test: object) => filterPath(readFilterOf({ path, ...test }).filter)
        return [
          { path: of({ equals: value }), payload, expected: true },
          { path: of({ in: [other, value] }), payload, expected: true },
          { path: of({ gte: value, lte: value }), payload, expected: true },
          { path: of({ prefix: value || 'x' }), payload, expected: value !== '' },
          { path: of({ equals: other }), payload, expected: other === value },
          { path: of({ in: [other] }), payload, expected: other === value },
          { path: of({ exists: true }), payload: JSON.stringify({ [`${key}.`]: 1, [`x${key}`]: 1 }), expected: false },
        ]
      })
      const { rows: answers } = await bench.pool.query<{ met: boolean }>(
        `select coalesce(posthorn.filter_document(convert_to(u.payload, 'UTF8')) @@ u.path::jsonpath, false) as met
         from unnest($1::text[], $2::text[]) with ordinality u(payload, path, o) order by u.o`,
        [rows.map(({ payload }) => payload), rows.map(({ path }) => path)],
      )
      for (const [place, { met }] of answers.entries()) {
        const { path, payload, expected } = rows[place]!
        expect(met, `${path} ${payload}`).toBe(expected)
      }
    },
  )
  await fc.assert(property, { numRuns: 60 })
})

test('of a list of values, however long, each is found, and nothing that lies between them', {
  timeout: 60_000,
}, async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\uffff', '\u{10000}', '"', '\\'), maxLength: 3 })
  const value = fc.oneof(
    text.map((each) => JSON.stringify(each)),
    fc
      .tuple(fc.integer({ min: -60, max: 60 }), fc.constantFrom('', '.0', '.5', 'e1', 'e-1', '.0000000000000000001'))
      .map(([n, rest]) => `${n}${rest}`),
    fc.constantFrom('null', 'true', 'false', '9007199254740992', '9007199254740993', '1e400', '-1e-400'),
  )
  const lists = fc.tuple(
    fc.array(value, { minLength: 1, maxLength: 100 }),
    fc.array(value, { minLength: 1, maxLength: 100 }),
  )
  const property = fc.asyncProperty(lists, async ([listed, others]) => {
    const { filter } = readFilterOf(`{"path":"/v","in":[${listed.join()}]}`)
    const payloads = [...listed, ...others].map((each) => `{"v":${each}}`)
    const { rows } = await bench.pool.query<{ met: boolean }>(
      `select coalesce(u.payload @@ $2::jsonpath, false) as met from unnest($1::jsonb[]) with ordinality u(payload, o) order by u.o`,
      [payloads, filterPath(filter)],
    )
    const found = rows.map(({ met }) => met)
    expect(found).toEqual(payloads.map((payload) => meets(filter, payload)))
    expect(found.slice(0, listed.length)).not.toContain(false)
  })
  await fc.assert(property, { numRuns: 60 })
})
