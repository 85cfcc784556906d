import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, within } from '../support/wait.ts'
import { type ApiUnderTest, headersOfAll, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest({
    limits: { headersTimeoutMs: 400, requestTimeoutMs: 800, silenceMs: 1_500, checkEveryMs: 50 },
  })
  await api.call('PUT', '/v1/tenants/acme', { json: {} })
})
afterAll(() => api.stop())

function open(to: ApiUnderTest = api): Socket {
  const socket = connect(Number(new URL(to.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  return socket
}

/** All that comes until the connection is closed. */
async function readToEnd(socket: Socket, timeoutMs = 10_000): Promise<string> {
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
  })
  await within(once(socket, 'close'), timeoutMs, () => `the connection stayed open after ${answer}`)
  return answer
}

function expectProblem(answer: string, status: number, code: string): void {
  expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
  const [head, body] = answer.split('\r\n\r\n', 2)
  expect(head).toMatch(/content-type: application\/problem\+json/i)
  expect(head).toMatch(/x-content-type-options: nosniff/i)
  expect(JSON.parse(body!)).toMatchObject({ status, code, errors: [] })
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`

describe('what is no request, or too much of one, is a problem document', () => {
  test.each<[string, string, number, string]>([
    ['no HTTP', 'hello\r\n\r\n', 400, 'malformed_request'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'malformed_request'],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'malformed_request'],
    [
      'a host that is none',
      'GET /healthz HTTP/1.1\r\nhost: a b/\r\nconnection: close\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['two lengths', get('/healthz', 'content-length: 1\r\ncontent-length: 2\r\n'), 400, 'malformed_request'],
    [
      'length and chunks',
      get('/healthz', 'content-length: 1\r\ntransfer-encoding: chunked\r\n'),
      400,
      'malformed_request',
    ],
    ['a header without a colon', get('/healthz', 'hello\r\n'), 400, 'malformed_request'],
    ['a folded header', get('/healthz', 'a: b\r\n c\r\n'), 400, 'malformed_request'],
    ['U+0000 in a header', get('/healthz', 'a: b\0\r\n'), 400, 'malformed_request'],
    ['a header of 20 kB', get('/healthz', `x: ${'y'.repeat(20_000)}\r\n`), 431, 'headers_too_large'],
    ['4,000 headers', get('/healthz', 'x: yyyy\r\n'.repeat(4_000)), 431, 'headers_too_large'],
    ['a URL of 17 kB', get(`/healthz?${'x'.repeat(17_000)}`), 431, 'headers_too_large'],
  ])('%s', async (_, text, status, code) => {
    const socket = open()
    socket.write(text, 'latin1')
    expectProblem(await readToEnd(socket), status, code)
  })

  test('a path and query of more than 8 KiB', async () => {
    const long = await api.call('GET', `/v1/tenants?cursor=${'x'.repeat(8_200)}`)
    expect(long).toMatchObject({ status: 414, body: { code: 'uri_too_long' } })
    expect((await api.call('GET', `/v1/tenants?cursor=${'x'.repeat(8_000)}`)).status).toBe(422)
  })

  test('with a megabyte more behind it, the answer is read all the same', async () => {
    const socket = open()
    socket.write(get('/healthz', `x: ${'y'.repeat(20_000)}\r\n`))
    socket.write(Buffer.alloc(1024 * 1024, 'z'))
    expectProblem(await readToEnd(socket), 431, 'headers_too_large')
  })

  test('nothing is written into the answer of a request that is under way', async () => {
    const socket = open()
    const body = '{"type":"a.b","payload":1}'
    const head = `POST /v1/tenants/acme/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorToken}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    socket.write(`${head}${body}no request\r\n\r\n`)
    const answer = await readToEnd(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 202 /)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect((await api.call('GET', '/healthz')).status).toBe(200)
  })

  test('a body whose chunks are none', async () => {
    const socket = open()
    const head = `PUT /v1/tenants/chunked HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorToken}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
    socket.write(`${head}1\r\n{\r\nno length\r\n`)
    expectProblem(await readToEnd(socket), 400, 'malformed_request')
    expect((await api.call('GET', '/v1/tenants/chunked')).status).toBe(404)
  })

  test('an expectation that nobody knows is passed over', async () => {
    const socket = open()
    socket.write(get('/healthz', 'expect: wonders\r\nconnection: close\r\n'))
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('whoever is slow loses the connection', () => {
  test('one that sends nothing', async () => {
    expectProblem(await readToEnd(open()), 408, 'request_timeout')
  })

  test('headers that drip', async () => {
    const socket = open()
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n')
    const drip = setInterval(() => socket.write('x: y\r\n'), 50)
    try {
      expectProblem(await readToEnd(socket), 408, 'request_timeout')
    } finally {
      clearInterval(drip)
    }
  })

  test('a body that drips, which stores nothing', async () => {
    const socket = open()
    socket.write(
      `PUT /v1/tenants/slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operatorToken}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
    )
    const drip = setInterval(() => socket.write(' '), 50)
    try {
      await readToEnd(socket)
    } finally {
      clearInterval(drip)
    }
    expect((await api.call('GET', '/v1/tenants/slow')).status).toBe(404)
  })

  test('one that never reads its answers', async () => {
    const narrow = await startApiUnderTest({ env: { POSTHORN_MAX_CONNECTIONS: '1' }, limits: { silenceMs: 1_000 } })
    const socket = open(narrow)
    try {
      await once(socket, 'connect')
      socket.pause()
      for (let i = 0; i < 40; i++) socket.write(get('/docs/swagger-ui-bundle.js'))
      // Its end cannot be seen by who does not read; that there is room again can.
      await eventually(async () => {
        const next = open(narrow)
        next.write(get('/healthz', 'connection: close\r\n'))
        return (await readToEnd(next)).startsWith('HTTP/1.1 200')
      }, 10_000)
    } finally {
      socket.destroy()
      await narrow.stop()
    }
  })

  test('200 of them at once keep nobody else waiting', async () => {
    const sockets = Array.from({ length: 200 }, () => open())
    for (const socket of sockets) socket.write('GET / HTTP/1.1\r\n')
    const began = performance.now()
    expect((await api.call('GET', '/healthz')).status).toBe(200)
    expect(performance.now() - began).toBeLessThan(1_000)
    await Promise.all(sockets.map((socket) => readToEnd(socket)))
  })
})

test('past the most connections a further one is closed, and room is there again when one has gone', async () => {
  const narrow = await startApiUnderTest({ env: { POSTHORN_MAX_CONNECTIONS: '3' } })
  try {
    const sockets = [open(narrow), open(narrow), open(narrow)]
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    await eventually(async () => {
      const fourth = open(narrow)
      fourth.write(get('/healthz'))
      return (await readToEnd(fourth)) === ''
    }, 5_000)
    sockets[0]!.destroy()
    await eventually(async () => {
      const next = open(narrow)
      next.write(get('/healthz', 'connection: close\r\n'))
      return (await readToEnd(next)).startsWith('HTTP/1.1 200')
    }, 5_000)
    for (const socket of sockets) socket.destroy()
  } finally {
    await narrow.stop()
  }
})

test.each([
  ['for want of room', operatorToken, 503, 'overloaded'],
  ['for its token', 'phk_unknown', 401, 'unauthorized'],
])(
  'a request that is refused %s while its body is still coming: the next one on the connection is answered',
  async (_, token, status, code) => {
    const small = await startApiUnderTest({ limits: { maxBodyBytesAtOnce: 100_000 } })
    try {
      const length = 200_000
      const head = (bearer: string): string =>
        `POST /v1/tenants/acme/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{`
      // One is past the bound already.
      const holder = open(small)
      holder.write(head(operatorToken) + ' '.repeat(length / 2))
      await eventually(async () => {
        const asked = await small.call('POST', '/v1/tenants/acme/events', { json: 'x'.repeat(length) })
        return asked.status === 503
      }, 5_000)
      const socket = open(small)
      socket.write(head(token))
      const answers = readToEnd(socket)
      await once(socket, 'data')
      // A slow line: it takes longer than a second until all of it is out.
      await sleep(1_000)
      socket.write(Buffer.alloc(length - 1, 'x'))
      socket.write(get('/healthz', 'connection: close\r\n'))
      const [first, second] = (await answers).split(/(?=HTTP\/1\.1 200)/)
      expectProblem(first!, status, code)
      expect(second).toMatch(/^HTTP\/1\.1 200 OK/)
      holder.destroy()
    } finally {
      await small.stop()
    }
  },
)

describe('headers of every answer', () => {
  test('are safe, on errors and on what is no route too', async () => {
    for (const [method, path, token] of [
      ['GET', '/healthz', null],
      ['GET', '/openapi.json', null],
      ['GET', '/v1/tenants', operatorToken],
      ['GET', '/v1/tenants', null],
      ['GET', '/v1/tenants/nobody', operatorToken],
      ['POST', '/nothing', operatorToken],
      ['DELETE', '/v1/tenants', operatorToken],
      ['OPTIONS', '/v1/tenants', null],
    ] as const) {
      const { headers } = await api.call(method, path, { token })
      const shown = Object.fromEntries(headers)
      expect(shown).toMatchObject(headersOfAll)
      expect(Object.keys(shown).filter((name) => /^(server|x-powered-by|access-control)/.test(name))).toEqual([])
    }
    const page = await api.call('GET', '/docs', { token: null })
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(page.headers.get('x-frame-options')).toBe('DENY')
  })

  test('let no page of another origin call the API, unless it is named', async () => {
    const preflight = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }
    const refused = await api.call('OPTIONS', '/v1/tenants/acme/events', { token: null, headers: preflight })
    expect([...refused.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])

    const opened = await startApiUnderTest({ env: { POSTHORN_CORS_ORIGINS: 'https://app.example.com' } })
    try {
      const allowed = await opened.call('OPTIONS', '/v1/tenants/acme/events', { token: null, headers: preflight })
      expect(allowed.status).toBe(204)
      expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
      expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization')
      // On refusals too, or a page could not tell why.
      const { origin } = preflight
      for (const token of [null, operatorToken]) {
        const answer = await opened.call('GET', '/v1/tenants/nobody', { token, headers: { origin } })
        expect(answer.status).toBe(token === null ? 401 : 404)
        expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
        expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      }
      const other = await opened.call('GET', '/v1/tenants', { headers: { origin: 'https://evil.example' } })
      expect(other.headers.get('access-control-allow-origin')).toBeNull()
      const options = await opened.call('OPTIONS', '/v1/tenants', { token: null })
      expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    } finally {
      await opened.stop()
    }
  })
})

test('a webhook of Posthorn’s own is refused, whatever key it carries', async () => {
  const headers = { 'posthorn-event-type': 'a.b' }
  const json = { type: 'a.b', payload: 1 }
  const looped = await api.call('POST', '/v1/tenants/acme/events', { json, headers })
  expect(looped).toMatchObject({ status: 403, body: { code: 'webhook_loop' } })
  expect(
    (await api.call('GET', '/v1/tenants/acme/events')).body.data.every((row: { type: string }) => row.type !== 'loop'),
  ).toBe(true)
})
