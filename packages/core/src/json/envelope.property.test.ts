import fc from 'fast-check'
import { expect, test } from 'vitest'
import { scanBatch, scanEnvelope } from './envelope.ts'
import { JsonFault, skipSpace, skipValue } from './skip.ts'

const limits = { maxPayloadBytes: 1024 * 1024, maxEvents: 1000 }

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })

/** A string as JSON text, each unit raw or escaped by chance. */
const stringText = fc.array(fc.tuple(fc.nat(0xffff), fc.nat(3)), { maxLength: 12 }).map((units) => {
  const text = units.map(([unit, how]) => {
    const escaped = `\\u${unit.toString(16).padStart(4, '0')}`
    const short = JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
    if (how === 0) return escaped
    if (how === 1 && unit === 0x2f) return '\\/'
    return short.isWellFormed() ? short : escaped
  })
  return `"${text.join('')}"`
})

const numberText = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? '-0' : String(number))),
  fc.constantFrom('-0', '1.0', '1e2', '1E+400', '0.1000', '-0.0e-0', '7615917337495251231'),
)

/** Any JSON value as text, oddly spaced. */
const { value: valueText } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(stringText, numberText, fc.constantFrom('null', 'true', 'false')),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
    .map(([inner, items]) => (items.length === 0 ? `[${inner}]` : `[${items.map((item) => item.join('')).join(',')}]`)),
  object: fc
    .tuple(space, fc.array(fc.tuple(space, stringText, space, space, tie('value'), space), { maxLength: 4 }))
    .map(([inner, members]) => {
      if (members.length === 0) return `{${inner}}`
      return `{${members.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`).join(',')}}`
    }),
}))

const member = fc.tuple(space, space, space, space)
const envelopeText = fc
  .record({
    payload: valueText,
    extra: valueText,
    around: fc.array(member, { minLength: 3, maxLength: 3 }),
    first: fc.boolean(),
  })
  .map(({ payload, extra, around, first }) => {
    const [type, own, other] = around.map(([a, b, c, d], index) => {
      const [key, value] = [
        ['"type"', '"a.b"'],
        ['"payload"', payload],
        ['"extra"', extra],
      ][index] as [string, string]
      return `${a}${key}${b}:${c}${value}${d}`
    })
    return { text: `{${(first ? [own, type, other] : [type, other, own]).join(',')}}`, payload, extra }
  })

test('the span’s bytes are the payload’s text, whatever it is and whatever stands around it', () => {
  fc.assert(
    fc.property(envelopeText, space, space, ({ text, payload, extra }, before, after) => {
      const body = Buffer.from(before + text + after)
      const scanned = scanEnvelope(body, limits)
      expect(body.toString('utf8', scanned.payload!.start, scanned.payload!.end)).toBe(payload)
      expect(scanned.fields['type']).toBe('a.b')
      expect(scanned.fields['extra']).toEqual(JSON.parse(extra))
      expect(Object.keys(scanned.fields).sort()).toEqual(['extra', 'type'])
    }),
    { numRuns: 500 },
  )
})

test('so are those of each event in a batch', () => {
  fc.assert(
    fc.property(fc.array(envelopeText, { maxLength: 5 }), (envelopes) => {
      const body = Buffer.from(`{"events": [${envelopes.map(({ text }) => text).join(' ,')}]}`)
      const { events } = scanBatch(body, limits)
      const spans = events?.map(({ payload }) => body.toString('utf8', payload!.start, payload!.end))
      expect(spans).toEqual(envelopes.map(({ payload }) => payload))
    }),
  )
})

test('a text is taken exactly when JSON.parse takes it', () => {
  const piece = fc.oneof(
    valueText,
    fc.constantFrom(
      ...'{}[]:,"\\-+.eE01 \t\n\r\f\v\0\u00a0\ufeff\x7f/ux',
      '\\u',
      '\\x',
      'tru',
      'nul',
      '""',
      '01',
      '1.',
      '.5',
      '-',
    ),
  )
  // A valid text with a bite taken out and something put in, or pieces at random.
  const bitten = fc
    .tuple(valueText, fc.nat(), fc.nat(3), fc.oneof(piece, fc.constant('')))
    .map(([text, at, length, put]) => {
      const start = at % (text.length + 1)
      return text.slice(0, start) + put + text.slice(start + length)
    })
  fc.assert(
    fc.property(
      fc.oneof(
        bitten,
        fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join('')),
      ),
      (raw) => {
        const text = raw.toWellFormed()
        expect(takes(text), text).toBe(parses(text))
      },
    ),
    { numRuns: 5_000 },
  )
})

function takes(text: string): boolean {
  const body = Buffer.from(text)
  try {
    return skipSpace(body, skipValue(body, skipSpace(body, 0))) === body.length
  } catch (error) {
    if (error instanceof JsonFault) return false
    throw error
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
