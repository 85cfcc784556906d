import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scanBatch, scanEnvelope } from './envelope.ts'
import { EnvelopeError } from './envelope-error.ts'

const limits = { maxPayloadBytes: 1024 * 1024, maxEvents: 1000 }
const payloadOf = (text: string) => {
  const body = Buffer.from(text)
  const { payload } = scanEnvelope(body, limits)
  return payload && body.toString('utf8', payload.start, payload.end)
}
const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth)

function refusal(read: () => unknown): Pick<EnvelopeError, 'status' | 'code' | 'path'> {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(EnvelopeError)
    const { status, code, path } = error as EnvelopeError
    return { status, code, path }
  }
  return expect.fail('was taken')
}
const refused = (body: string | Buffer) => refusal(() => scanEnvelope(Buffer.from(body as string), limits))

describe('the payload is the text that was sent', () => {
  test.each([
    ['key order', '{"b":1,"a":{"d":1,"c":2}}'],
    ['escaped slashes and characters', String.raw`{"u":"https:\/\/e.test\/a","h":"\u0026\u003c\u00e9"}`],
    ['characters that HTML escapes', '{"=<>&\'\u2028\u2029":"=<>&\'\u2028\u2029"}'],
    ['text of many bytes, raw and escaped', String.raw`{"t":"😊 日本語 é é \ud83d\ude0a"}`],
    ['numbers past 2^53', `{"id":7615917337495251231,"neg":-1.7976931348623157e+308,"long":${'9'.repeat(309)}}`],
    ['spellings of numbers', '{"a": 1.0, "b":1e2,"c":-0, "d":0.1000,"e":1E+400}'],
    ['repeated keys inside it', '{"b":1,  "a":1.0, "a":1e2, "u":"https:\\/\\/x"}'],
    ['line ends', '{\r\n  "a": 1\r\n}'],
    ['lone surrogates', String.raw`{"a":"\ud800","\udc00x":"\udc00x"}`],
    ['NUL escapes', String.raw`{"a":"x\u0000y","k\u0000":1,"lit":"\\u0000"}`],
    ['quotes, braces and backslashes in strings', String.raw`{"\\":"}]\"{[\\","payload":"\\\""}`],
    ['nesting of 500', nested(500)],
    ['nesting of 500 objects', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`],
    ['an empty object', '{}'],
    ['an empty array', '[ ]'],
    ['a string', '""'],
    ['a number', '-0.0e-0'],
    ['null', 'null'],
    ['true', 'true'],
    ['false', 'false'],
  ])('%s', (_, payload) => {
    for (const space of ['', ' ', '\r\n\t ']) {
      expect(payloadOf(`{"payload":${space}${payload}${space}}`)).toBe(payload)
      expect(payloadOf(`${space}{"type":"a",${space}"payload"${space}:${payload},"channels":["x"]}${space}`)).toBe(
        payload,
      )
    }
  })

  test('under an escaped spelling of its name', () => {
    expect(payloadOf(String.raw`{"\u0070ayload":1.0}`)).toBe('1.0')
  })

  test('and null when there is none', () => {
    expect(payloadOf('{"type":"a","x":{"payload":1}}')).toBeNull()
    expect(payloadOf('{}')).toBeNull()
  })
})

describe('the fields', () => {
  test('are parsed, without the payload', () => {
    const body = Buffer.from(
      String.raw`{"type":"invoice.paid","payload":{"type":"x"},"channels":["é","\u00e9"],"ordering_key":"\u0000é","n":1.50,"o":{"a":[]},"e":""}`,
    )
    expect({ ...scanEnvelope(body, limits).fields }).toEqual({
      type: 'invoice.paid',
      channels: ['é', 'é'],
      ordering_key: '\0é',
      n: 1.5,
      o: { a: [] },
      e: '',
    })
  })

  test('hold __proto__ as a member like others, which a strict schema sees', () => {
    const { fields } = scanEnvelope(Buffer.from('{"__proto__":{"type":"a"},"constructor":1,"toString":2}'), limits)
    expect(Object.keys(fields)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(fields['type']).toBeUndefined()
    const parsed = z.strictObject({ type: z.string().optional() }).safeParse(fields)
    expect(parsed.success).toBe(false)
    expect(parsed.error?.issues).toMatchObject([{ keys: ['__proto__', 'constructor', 'toString'] }])
  })

  test('pass a schema', () => {
    const { fields } = scanEnvelope(Buffer.from('{"type":"a","payload":1}'), limits)
    expect(z.strictObject({ type: z.string() }).parse(fields)).toEqual({ type: 'a' })
  })
})

describe('a body is refused for', () => {
  test.each([
    ['a byte-order mark', Buffer.from('\ufeff{"payload":{}}'), 'byte_order_mark'],
    ['a byte-order mark alone', Buffer.from([0xef, 0xbb, 0xbf]), 'byte_order_mark'],
    ['a stray byte', Buffer.from('{"payload":"\xe9"}', 'latin1'), 'invalid_utf8'],
    ['an encoded surrogate', Buffer.from('{"payload":"\xed\xa0\x80"}', 'latin1'), 'invalid_utf8'],
    ['an overlong encoding', Buffer.from('{"payload":"\xc0\x80"}', 'latin1'), 'invalid_utf8'],
    ['UTF-16', Buffer.from('{"payload":1}', 'utf16le'), 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['white space', ' \n', 'invalid_json'],
    ['a form', 'payload=1', 'invalid_json'],
    ['its end missing', '{"payload":{"a":1}', 'invalid_json'],
    ['its string unended', '{"payload":"a', 'invalid_json'],
    ['its escape unended', '{"payload":"\\', 'invalid_json'],
    ['something behind it', '{"payload":1} x', 'invalid_json'],
    ['a second object behind it', '{"payload":1}{}', 'invalid_json'],
    ['a broken list behind another fault', '[1,', 'invalid_json'],
    ['broken JSON behind a repeated key', '{"a":1,"a":2', 'invalid_json'],
  ])('%s', (_, body, code) => {
    expect(refused(body)).toEqual({ status: 400, code, path: '' })
  })

  test.each(['[]', '"x"', '1', 'null', 'true', ' [{"payload":1}] '])('being no object: %s', (body) => {
    expect(refused(body)).toEqual({ status: 422, code: 'not_an_object', path: '' })
  })

  test.each([
    ['{"type":"user.created","type":"user.deleted","payload":{}}', '/type'],
    [String.raw`{"type":"a","\u0074ype":"b"}`, '/type'],
    ['{"payload":1,"payload":1}', '/payload'],
    [String.raw`{"payload":1,"\u0070ayload":1}`, '/payload'],
    ['{"":1,"":2}', '/'],
    ['{"a/~b":1,"a\\/~b":2}', '/a~1~0b'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    [String.raw`{"\ud800":1,"\ud800":2}`, '/\ufffd'],
    [`{"${'k'.repeat(5000)}":1,"${'k'.repeat(5000)}":2}`, `/${'k'.repeat(100)}…`],
  ])('a repeated key, told by its pointer: %#', (body, path) => {
    expect(refused(body)).toEqual({ status: 400, code: 'repeated_key', path })
  })

  test.each([
    ['[', ']', 501],
    ['[', ']', 5_000],
    ['[', ']', 100_000],
    ['{"a":', '}', 501],
    ['{"a":', '}', 100_000],
    ['[{"a":', '}]', 251],
  ])('nesting past 500: %s%s %d times', (open, close, times) => {
    const text = open.repeat(times) + 1 + close.repeat(times)
    const code = { status: 400, code: 'nested_too_deeply' }
    expect(refused(`{"payload":${text}}`)).toEqual({ ...code, path: '/payload' })
    expect(refused(`{"meta/x":${text}}`)).toEqual({ ...code, path: '/meta~1x' })
    expect(refused(text.startsWith('[') ? text : `[${text}]`)).toEqual({ ...code, path: '' })
    // Unended, as an attack would rather be.
    expect(refused(`{"payload":${open.repeat(times)}`)).toEqual({ ...code, path: '/payload' })
  })

  test('a payload past the limit, measured on it alone', () => {
    const small = { maxPayloadBytes: 10 }
    const at = Buffer.from(`{"type":"${'x'.repeat(500)}", "payload":  "12345678"  }`)
    expect(scanEnvelope(at, small).payload).not.toBeNull()
    const past = Buffer.from('{"payload":"éééé9"}')
    expect(refusal(() => scanEnvelope(past, small))).toEqual({
      status: 413,
      code: 'payload_too_large',
      path: '/payload',
    })
    expect(() => scanEnvelope(past, small)).toThrow('The payload has 11 bytes; at most 10 are taken.')
  })
})

describe('a batch', () => {
  const batchOf = (text: string, some = limits) => {
    const body = Buffer.from(text)
    const { fields, events } = scanBatch(body, some)
    return {
      fields: { ...fields },
      events: events?.map(({ fields, payload }) => [
        { ...fields },
        payload && body.toString('utf8', payload.start, payload.end),
      ]),
    }
  }
  const refusedBatch = (text: string, some = limits) => refusal(() => scanBatch(Buffer.from(text), some))

  test('gives each event’s fields and payload', () => {
    expect(
      batchOf('{ "events" : [ {"type":"a","payload": [1.0 ] } , {"payload":"é"},{}, {"type":"b"} ] , "x": 1}'),
    ).toEqual({
      fields: { x: 1 },
      events: [
        [{ type: 'a' }, '[1.0 ]'],
        [{}, '"é"'],
        [{}, null],
        [{ type: 'b' }, null],
      ],
    })
  })

  test('may be empty, or lack its events', () => {
    expect(batchOf('{"events":[ ]}')).toEqual({ fields: {}, events: [] })
    expect(batchOf('{"payload":1}')).toEqual({ fields: { payload: 1 }, events: undefined })
  })

  test.each([
    ['[]', 422, 'not_an_object', ''],
    ['{"events":{}}', 422, 'not_an_array', '/events'],
    ['{"events":null}', 422, 'not_an_array', '/events'],
    ['{"events":[{},1]}', 422, 'not_an_object', '/events/1'],
    ['{"events":[[{}]]}', 422, 'not_an_object', '/events/0'],
    ['{"events":[1,', 400, 'invalid_json', ''],
    ['{"events":[{},]}', 400, 'invalid_json', ''],
    ['{"events":[{} {}]}', 400, 'invalid_json', ''],
    ['{"events":[{}', 400, 'invalid_json', ''],
    ['{"events":[],"events":[]}', 400, 'repeated_key', '/events'],
    ['{"events":[{},{"type":1,"type":2}]}', 400, 'repeated_key', '/events/1/type'],
    ['{"events":[{},{},{},{"payload":1,"payload":2}]}', 400, 'repeated_key', '/events/3/payload'],
    [`{"events":[{},{"payload":${nested(501)}}]}`, 400, 'nested_too_deeply', '/events/1/payload'],
    [`{"events":[${nested(501)}]}`, 400, 'nested_too_deeply', '/events/0'],
    [`{"events":[{"x":${nested(501)}}]}`, 400, 'nested_too_deeply', '/events/0/x'],
  ])('is refused as a whole, with a pointer to the fault: %#', (text, status, code, path) => {
    expect(refusedBatch(text)).toEqual({ status, code, path })
  })

  test('measures each payload on itself', () => {
    expect(batchOf(`{"events":[{"payload":${nested(500)}}]}`).events).toHaveLength(1)
    const small = { maxPayloadBytes: 5, maxEvents: 10 }
    expect(refusedBatch('{"events":[{},{},{},{"payload":"1234"},{"payload":"12345"}]}', small)).toEqual({
      status: 413,
      code: 'payload_too_large',
      path: '/events/3/payload',
    })
  })

  test('of more events than allowed is refused, however many there are', () => {
    const few = { maxPayloadBytes: 5, maxEvents: 2 }
    expect(batchOf('{"events":[{},{}]}', few).events).toHaveLength(2)
    expect(refusedBatch(`{"events":[{}${',{}'.repeat(100_000)}]}`, few)).toEqual({
      status: 422,
      code: 'too_many_events',
      path: '/events',
    })
  })
})
