import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { brief, internalErrors, newSender } from './fixture.ts'
import { always, ok, type Peer, startRawServer } from './raw-server.ts'

const head = (status: number, ...headers: string[]): string => [`HTTP/1.1 ${status} X`, ...headers, '', ''].join('\r\n')

/** Writes a byte again and again until the other side goes away. */
const drip =
  (start: string, part: string, everyMs: number) =>
  async ({ socket, request }: Peer): Promise<void> => {
    await request()
    socket.write(start)
    const timer = setInterval(() => socket.write(part), everyMs)
    socket.once('close', () => clearInterval(timer))
  }

it.each([
  ['200 with an empty body', head(200, 'content-length: 0'), 200, ''],
  ['202', head(202, 'content-length: 0'), 202, ''],
  ['204', head(204), 204, ''],
  ['206', `${head(206, 'content-length: 1')}x`, 206, 'x'],
  ['226', `${head(226, 'content-length: 1')}x`, 226, 'x'],
  ['HTML', `${head(200, 'content-type: text/html', 'content-length: 4')}<p/>`, 200, '<p/>'],
  ['chunked', `${head(200, 'transfer-encoding: chunked')}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`, 200, 'abcde'],
  ['a status that nobody knows', head(999, 'content-length: 0'), 999, ''],
  ['410', head(410, 'content-length: 0'), 410, ''],
])('an answer is taken as it is: %s', async (_, answer, status, body) => {
  const server = await startRawServer(always(answer))
  const outcome = await newSender().post(server.url)
  expect(outcome).toMatchObject({ response: { status, truncated: false }, error: null, stale: false, aborted: false })
  expect(outcome.response?.body.toString()).toBe(body)
})

it('a body that ends with the connection is whole', async () => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.end(`${head(200, 'connection: close')}until the end`)
  })
  const outcome = await newSender().post(server.url)
  expect(brief(outcome)).toBe('200')
  expect(outcome.response?.body.toString()).toBe('until the end')
})

it('a redirect is an answer like any other, and never followed', async () => {
  const elsewhere = await startRawServer(always(ok))
  const sender = newSender()
  for (const status of [301, 302, 303, 307, 308]) {
    for (const to of ['http://169.254.169.254/', elsewhere.url, '/hook', 'javascript:alert(1)', null]) {
      const location = to === null ? [] : [`location: ${to}`]
      const server = await startRawServer(always(head(status, ...location, 'content-length: 0')))
      const outcome = await sender.post(server.url)
      expect(brief(outcome)).toBe(`${status}`)
      expect(outcome.response?.headers.find(([name]) => name === 'location')?.[1]).toBe(to ?? undefined)
      expect(server.requests).toHaveLength(1)
    }
  }
  expect(elsewhere.accepted()).toBe(0)
})

it.each([
  [200, 'content-length: 100000', 'x'],
  [500, 'content-length: 100000', 'x'],
  [200, 'transfer-encoding: chunked', '1\r\nx\r\n'],
])('a body that drips is cut at the deadline, and the status %i stands (%s)', async (status, header, part) => {
  const server = await startRawServer(drip(head(status, header), part, 30))
  const sender = newSender()
  const outcome = await sender.post(server.url, { timeoutMs: 300 })
  expect(brief(outcome)).toBe(`${status} truncated`)
  expect(outcome.error).toBeNull()
  expect(outcome.response?.body.toString()).toMatch(/^x+$/)
  expect(outcome.durationMs).toBeGreaterThanOrEqual(295)
  expect(outcome.durationMs).toBeLessThan(1_000)
  expect(sender.openConnections()).toBe(0)
})

it.each(['reset', 'close'] as const)('a %s within the body leaves the status', async (how) => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.write(`${head(200, 'content-length: 100')}part`, () => {
      if (how === 'close') socket.end()
      // A reset drops what the other side has not read yet: wait until it has.
      else setTimeout(() => socket.resetAndDestroy(), 50)
    })
  })
  const outcome = await newSender().post(server.url)
  expect(brief(outcome)).toBe('200 truncated')
  expect(outcome.response?.body.toString()).toBe('part')
})

it.each(['102 Processing', '103 Early Hints'])('endless %s answers end at the deadline', async (status) => {
  const server = await startRawServer(drip('', `HTTP/1.1 ${status}\r\n\r\n`, 30))
  const outcome = await newSender().post(server.url, { timeoutMs: 300 })
  expect(brief(outcome)).toBe('timeout in headers')
  expect(outcome.durationMs).toBeLessThan(1_000)
})

it('headers that drip end at the deadline', async () => {
  const server = await startRawServer(drip('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n', 30))
  expect(brief(await newSender().post(server.url, { timeoutMs: 300 }))).toBe('timeout in headers')
})

it('an informational answer before the final one is passed over', async () => {
  const server = await startRawServer(always(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`))
  const outcome = await newSender().post(server.url)
  expect(brief(outcome)).toBe('200')
  expect(outcome.response?.headers).toEqual([['content-length', '2']])
})

it.each(['upgrade: foo\r\nconnection: upgrade\r\n', ''])('101 fails at once (%j)', async (headers) => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`)
  })
  const sender = newSender()
  const outcome = await sender.post(server.url)
  expect(brief(outcome)).toBe('response_invalid in headers')
  expect(outcome.stale).toBe(false)
  expect(sender.openConnections()).toBe(0)
})

it('a body larger than the limit ends the read, and its first 16 KiB are kept', async () => {
  const endless = async ({ socket, request }: Peer): Promise<void> => {
    await request()
    socket.write(head(200, 'content-length: 99999999999'))
    const block = Buffer.alloc(65_536, 'y')
    const pump = (): void => {
      while (!socket.destroyed && socket.write(block));
    }
    socket.on('drain', pump)
    pump()
  }
  const server = await startRawServer(endless)
  const sender = newSender()
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => sender.post(server.url)))
  for (const outcome of outcomes) {
    expect(brief(outcome)).toBe('200 truncated')
    expect(outcome.response?.body).toEqual(Buffer.alloc(16_384, 'y'))
  }
  expect(sender.openConnections()).toBe(0)
})

it('a body between what is kept and what is read leaves the connection in use', async () => {
  const server = await startRawServer(always(`${head(200, 'content-length: 60000')}${'z'.repeat(60_000)}`))
  const sender = newSender()
  for (let turn = 0; turn < 3; turn++) {
    const outcome = await sender.post(server.url)
    expect(brief(outcome)).toBe('200 truncated')
    expect(outcome.response?.body).toHaveLength(16_384)
  }
  expect(server.accepted()).toBe(1)
})

it('a compressed body is kept as the bytes that came', async () => {
  const body = gzipSync(Buffer.alloc(10_000_000))
  const encoding = 'content-encoding: gzip, gzip, gzip'
  const answer = Buffer.concat([Buffer.from(head(200, encoding, `content-length: ${body.length}`)), body])
  const server = await startRawServer(always(answer))
  const outcome = await newSender().post(server.url)
  expect(outcome.response?.body).toEqual(body.subarray(0, 16_384))
})

it('bytes that are no text come through, and header bytes as Latin-1', async () => {
  const body = Buffer.from([0x61, 0x00, 0x62, 0xff])
  const start = Buffer.from(head(200, 'x-name: caf\u00e9', 'content-length: 4'), 'latin1')
  const server = await startRawServer(always(Buffer.concat([start, body])))
  const outcome = await newSender().post(server.url)
  expect(outcome.response?.body).toEqual(body)
  expect(outcome.response?.headers[0]).toEqual(['x-name', 'café'])
})

it('headers are kept in order, repeated ones as pairs, up to 64 pairs and 8 KiB', async () => {
  const many = Array.from({ length: 100 }, (_, index) => `x-${index}: ${index}`)
  const large = Array.from({ length: 10 }, (_, index) => `x-${index}: ${'v'.repeat(1_000)}`)
  const answers = [['x-a: 1', 'X-B: 2', 'x-a: 3'], many, large].map((lines) => head(200, ...lines, 'content-length: 0'))
  const kept = []
  const sender = newSender()
  for (const answer of answers) {
    const server = await startRawServer(always(answer))
    kept.push((await sender.post(server.url)).response?.headers)
  }
  expect(kept[0]?.slice(0, 3)).toEqual([
    ['x-a', '1'],
    ['x-a', '3'],
    ['x-b', '2'],
  ])
  expect(kept[1]).toHaveLength(64)
  expect(kept[2]).toHaveLength(8)
})

it('headers too large to read fail; large ones are cut, and the status stands', async () => {
  const endless = await startRawServer(always(head(200, `x-a: ${'v'.repeat(1_000_000)}`, 'content-length: 0')))
  expect(brief(await newSender().post(endless.url))).toBe('response_invalid in headers')
  const large = await startRawServer(always(head(200, 'x-a: 1', `x-b: ${'v'.repeat(30_000)}`, 'content-length: 0')))
  const outcome = await newSender().post(large.url)
  expect(brief(outcome)).toBe('200')
  expect(outcome.response?.headers).toEqual([['x-a', '1']])
})

it('retry-after is handed on as it stood', async () => {
  const once = await startRawServer(always(head(503, 'retry-after: 120', 'content-length: 0')))
  const twice = await startRawServer(always(head(503, 'retry-after: 1', 'retry-after: x', 'content-length: 0')))
  const sender = newSender()
  expect((await sender.post(once.url)).retryAfter).toBe('120')
  expect((await sender.post(twice.url)).retryAfter).toEqual(['1', 'x'])
})

it('an answer before the request was read stands', async () => {
  const server = await startRawServer(({ socket }) => {
    socket.pause()
    socket.write(head(413, 'connection: close', 'content-length: 0'))
  })
  expect(brief(await newSender().post(server.url, { body: Buffer.alloc(16_000_000) }))).toBe('413')
})

it('a receiver that closes behind a large body harms nothing, again and again', async () => {
  const server = await startRawServer(async ({ socket, index, request }) => {
    await request()
    const size = 65_536 + (index % 16) * 61_440
    socket.end(head(200, `content-length: ${size}`, 'connection: close') + 'b'.repeat(size))
  })
  const sender = newSender()
  for (let round = 0; round < 20; round++) {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => sender.post(server.url)))
    for (const outcome of outcomes) expect(outcome.response?.status).toBe(200)
  }
  expect(internalErrors).toEqual([])
})
