import { expect, it } from 'vitest'
import { brief, newSender } from './fixture.ts'
import { always, ok, startRawServer } from './raw-server.ts'

it('the request on the wire is exactly this, with lower-case names', async () => {
  const server = await startRawServer(always(ok))
  const headers = { 'Webhook-Id': 'evt_1', 'webhook-signature': 'v1,x', 'X-Own': 'é' }
  await newSender().post(`${server.url}?q=1`, { headers })
  expect(server.requests[0]?.split('\r\n')).toEqual([
    'POST /hook?q=1 HTTP/1.1',
    `host: 127.0.0.1:${server.port}`,
    'connection: keep-alive',
    'webhook-id: evt_1',
    'webhook-signature: v1,x',
    'x-own: é',
    'user-agent: Posthorn/0.0.0-test',
    'content-length: 7',
    '',
    '{"a":1}',
  ])
})

it.each([0, 1_024, 1_048_576])('a body of %i bytes has a content-length and is not chunked', async (size) => {
  const server = await startRawServer(always(ok))
  const outcome = await newSender().post(server.url, { body: new Uint8Array(size).fill(97) })
  expect(brief(outcome)).toBe('200')
  const request = server.requests[0] ?? ''
  expect(request).toContain(`\r\ncontent-length: ${size}\r\n`)
  expect(request.toLowerCase()).not.toMatch(/transfer-encoding|expect:/)
  expect(request.endsWith(`\r\n\r\n${'a'.repeat(size)}`)).toBe(true)
})

it('a body that is a view of a larger buffer is sent as that view', async () => {
  const server = await startRawServer(always(ok))
  await newSender().post(server.url, { body: new Uint8Array(Buffer.from('xxHELLOxx')).subarray(2, 7) })
  expect(server.requests[0]).toMatch(/content-length: 5\r\n\r\nHELLO$/)
})

it('headers of the connection cannot be set by the request', async () => {
  const server = await startRawServer(always(ok))
  const headers = {
    'Content-Length': '3',
    'transfer-encoding': 'chunked',
    Connection: 'close',
    Host: 'elsewhere.test',
    Expect: '100-continue',
    upgrade: 'h2c',
    te: 'trailers',
  }
  const sender = newSender()
  expect(brief(await sender.post(server.url, { headers }))).toBe('200')
  expect(server.requests[0]).not.toMatch(/chunked|close|elsewhere|100-continue|h2c|trailers|length: 3/)
})

it.each(['a\r\nX-Injected: 1', 'a\u0000b', 'snow ☃'])(
  'a header value that is not valid is never sent: %j',
  async (value) => {
    const server = await startRawServer(always(ok))
    const sender = newSender()
    expect(brief(await sender.post(server.url, { headers: { 'x-own': value } }))).toBe('request_invalid in request')
    expect(brief(await sender.post(server.url, { headers: { 'bad name:': 'x' } }))).toBe('request_invalid in request')
    expect(server.requests).toEqual([])
    expect(sender.openConnections()).toBe(0)
  },
)
