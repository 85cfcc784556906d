import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { within } from '../support/wait.ts'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const path = '/v1/tenants/acme/events'
const json = { 'content-type': 'application/json' }
const maxPayload = 1024 * 1024

/** A body around payloads that stand in it exactly as given. */
function around(payload: Buffer, before = '{"type":"a.b","payload":', after = '}'): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([Buffer.from(before), payload, Buffer.from(after)]))
}

async function stored(id: string): Promise<Buffer> {
  const { rows } = await api.pool.query(
    `select e.payload from posthorn.event e where posthorn.type_id('evt', e.id) = $1`,
    [id],
  )
  return rows[0].payload
}

async function bytesOf(url: string): Promise<Buffer> {
  const response = await fetch(api.url + url, { headers: { authorization: `Bearer ${operatorToken}` } })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  return Buffer.from(await response.arrayBuffer())
}

const deep = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)

describe.each<[name: string, payload: string | Buffer]>([
  ['A01 key order', '{"b":1,"a":{"d":1,"c":2}}'],
  ['A02 escaped slashes and \\u escapes', '{"u":"https:\\/\\/e.test\\/a","h":"\\u0026\\u003c\\u00e9"}'],
  ['A03 HTML characters and line separators', `{"=<>&'\u2028\u2029":"=<>&'\u2028\u2029"}`],
  ['A04 text of many bytes', `{"t":"😊 日本語 é e\u0301 \\ud83d\\ude0a","long":"${'日'.repeat(2000)}"}`],
  ['A06 large integers', `{"id":7615917337495251231,"neg":-1.7976931348623157e+308,"long":${'9'.repeat(309)}}`],
  ['A07 spelling of numbers', '{"a": 1.0, "b":1e2,"c":-0, "d":0.1000}'],
  ['A08 what jsonb would rewrite', '{"b":1,  "a":1.0, "a":1e2, "u":"https:\\/\\/x"}'],
  ['A10 a repeated key inside the payload', '{"type":"user.created","type":"user.deleted","data":{}}'],
  ['A11 white space inside', '{\r\n  "a" : [ 1 ,\t2 ]\r\n}'],
  ['A14 lone surrogates', '{"a":"\\ud800","\\udc00x":"\\udc00x"}'],
  ['A15 U+0000', '{"a":"x\\u0000y","k\\u0000":1,"lit":"\\\\u0000"}'],
  ['A18 nested 500 deep', deep('[', ']', 500)],
  ['a string', '"text"'],
  ['a number', '-0.0e-0'],
  ['null', 'null'],
  ['false', 'false'],
  ['an empty object', '{ }'],
  ['a key that means something to JavaScript', '{"__proto__":{"toJSON":1},"constructor":2}'],
])('%s', (_, text) => {
  const payload = Buffer.from(text as string)

  test('the bytes sent are the bytes stored and answered', async () => {
    const answer = await api.call('POST', path, { raw: around(payload), headers: json })
    expect(answer).toMatchObject({ status: 202, body: { type: 'a.b' } })
    expect(await stored(answer.body.id)).toEqual(payload)
    expect(await bytesOf(`${path}/${answer.body.id}/payload`)).toEqual(payload)
    const event = await bytesOf(`${path}/${answer.body.id}`)
    expect(event.subarray(event.length - payload.length - 1)).toEqual(Buffer.concat([payload, Buffer.from('}')]))
    const { payload: read, ...rest } = JSON.parse(event.toString())
    expect(rest).toEqual(answer.body)
    expect(read).toEqual(JSON.parse(payload.toString()))
  })

  test('white space around it is the envelope’s, and a batch keeps each apart', async () => {
    const body = Buffer.concat([
      Buffer.from(' {"events" : [ {"payload"\n:\t'),
      payload,
      Buffer.from(' \r\n,"type":"a"} , {"type":"b","payload":'),
      payload,
      Buffer.from('}]}\n'),
    ])
    const answer = await api.call('POST', `${path}/batch`, { raw: new Uint8Array(body), headers: json })
    expect(answer.status).toBe(202)
    expect(answer.body.data.map((event: { type: string }) => event.type)).toEqual(['a', 'b'])
    for (const event of answer.body.data) expect(await stored(event.id)).toEqual(payload)
  })
})

test.each([
  ['A12 a byte-order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), 400, 'byte_order_mark'],
  ['invalid UTF-8', around(Buffer.from([0x22, 0xff, 0x22])), 400, 'invalid_utf8'],
  ['a surrogate in UTF-8', around(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), 400, 'invalid_utf8'],
  ['A10 a repeated key in the envelope', Buffer.from('{"type":"a","type":"b","payload":1}'), 400, 'repeated_key'],
  ['a repeated payload', Buffer.from('{"type":"a","payload":1,"payl\\u006fad":2}'), 400, 'repeated_key'],
  ['A18 nested 501 deep', around(Buffer.from(deep('[', ']', 501))), 400, 'nested_too_deeply'],
  [
    'A18 nested 100,000 deep',
    around(Buffer.from(deep('{"a":', '}', 100_000).replace('}', '1}'))),
    400,
    'nested_too_deeply',
  ],
  ['a truncated body', Buffer.from('{"type":"a","payload":{"a":'), 400, 'invalid_json'],
  ['an empty body', Buffer.alloc(0), 400, 'invalid_json'],
  ['two bodies', Buffer.from('{"type":"a","payload":1}{}'), 400, 'invalid_json'],
])('%s is refused', async (_, body, status, code) => {
  const answer = await api.call('POST', path, { raw: new Uint8Array(body), headers: json })
  expect(answer).toMatchObject({ status, body: { status, code } })
})

describe('A20 sizes', () => {
  const text = (bytes: number) => Buffer.from(`"${'x'.repeat(bytes - 2)}"`)

  test.each([7_999, 8_000, 8_001, 19_000, 255_000, maxPayload - 1, maxPayload])('%d bytes are taken', async (size) => {
    const payload = text(size)
    const answer = await api.call('POST', path, { raw: around(payload), headers: json })
    expect(answer.status).toBe(202)
    expect((await stored(answer.body.id)).equals(payload)).toBe(true)
  })

  test('one byte past the limit is a 413 that names it, alone and in a batch', async () => {
    const payload = text(maxPayload + 1)
    const single = await api.call('POST', path, { raw: around(payload), headers: json })
    expect(single).toMatchObject({ status: 413, body: { code: 'payload_too_large', errors: [{ path: '/payload' }] } })
    expect(single.body.detail).toContain(String(maxPayload))
    const batch = around(payload, '{"events":[{"type":"a","payload":1},{"type":"a","payload":', '}]}')
    const many = await api.call('POST', `${path}/batch`, { raw: batch, headers: json })
    expect(many).toMatchObject({ status: 413, body: { errors: [{ path: '/events/1/payload' }] } })
  })

  test('a batch of 16 MiB is taken, and one byte more is a 413', async () => {
    const element = around(text(maxPayload - 64), '{"type":"a","payload":', '}')
    const room = 16 * maxPayload - '{"events":[]}'.length
    const count = Math.floor(room / (element.length + 1))
    const events = Buffer.concat(
      Array.from({ length: count }, (_, i) => Buffer.concat([Buffer.from(i ? ',' : ''), element])),
    )
    const fill = ' '.repeat(16 * maxPayload - events.length - '{"events":[]}'.length)
    const whole = `${'{"events":['}${events.toString()}${fill}]}`
    const taken = await api.call('POST', `${path}/batch`, { raw: whole, headers: json })
    expect(taken.status).toBe(202)
    expect(taken.body.data).toHaveLength(count)
    const refused = await api.call('POST', `${path}/batch`, { raw: `${whole} `, headers: json })
    expect(refused).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    expect(refused.body.detail).toContain(String(16 * maxPayload))
  })

  test('20 MB without a length is refused while it comes, and little of it is kept', async () => {
    const status = new Promise<number>((resolve, reject) => {
      const headers = { ...json, authorization: `Bearer ${operatorToken}`, 'transfer-encoding': 'chunked' }
      const request = httpRequest(api.url + path, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      request.on('error', reject)
      const chunk = Buffer.alloc(64 * 1024, 0x20)
      let sent = 0
      const write = () => {
        while (sent < 20_000_000) {
          sent += chunk.length
          if (!request.write(chunk)) return request.once('drain', write)
        }
        return request.end()
      }
      write()
    })
    expect(await within(status, 10_000, () => 'no answer')).toBe(413)
    expect((await api.call('POST', path, { raw: around(text(100)), headers: json })).status).toBe(202)
  })

  test('a content length that lies: too large is a 413 at once, too small breaks off at its end', async () => {
    const head = (length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorToken}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
    const ask = (text: string) =>
      within(
        new Promise<string>((resolve, reject) => {
          const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(text))
          let answer = ''
          socket.on('data', (data) => {
            answer += data.toString()
            if (answer.includes('\r\n\r\n')) socket.destroy()
          })
          socket.on('error', reject).on('close', () => resolve(answer))
        }),
        10_000,
        () => 'no answer',
      )
    expect(await ask(head(50_000_000))).toMatch(/^HTTP\/1\.1 413 /)
    expect(await ask(`${head(10)}${' '.repeat(1_000_000)}`)).toMatch(/^HTTP\/1\.1 400 /)
  })
})
