import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { brief, internalErrors, newSender } from './fixture.ts'
import { always, ok, startRawServer } from './raw-server.ts'

const dnsError = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(code), { code, syscall: 'getaddrinfo' })

it.each([
  ['an SSH banner', 'SSH-2.0-OpenSSH_9.6\r\n', 'response_invalid in headers'],
  ['line feeds alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', 'response_invalid in headers'],
  ['a wrong version', 'HTTP/2 200 OK\r\n\r\n', 'response_invalid in headers'],
  ['a header that is none', 'HTTP/1.1 200 OK\r\nbad header: x\r\n\r\n', 'response_invalid in headers'],
  ['a status of two digits', 'HTTP/1.1 99 X\r\ncontent-length: 0\r\n\r\n', 'response_invalid in headers'],
  [
    'a length twice',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    'response_invalid in headers',
  ],
  ['100 unasked, which undici does not read', `HTTP/1.1 100 Continue\r\n\r\n${ok}`, 'response_invalid in headers'],
])('what is not HTTP is named so: %s', async (_, answer, expected) => {
  const server = await startRawServer(always(answer))
  const outcome = await newSender().post(server.url)
  expect(brief(outcome)).toBe(expected)
  expect(outcome.stale).toBe(false)
  expect(internalErrors).toEqual([])
})

it('a connection closed without an answer is named so', async () => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.end()
  })
  expect(brief(await newSender().post(server.url))).toBe('connection_closed in headers')
})

it('a port where nothing listens refuses', async () => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  const sender = newSender()
  for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, `https://127.0.0.1:${port}/`]) {
    expect(brief(await sender.post(url))).toBe('connect_refused in connect')
  }
  expect(sender.openConnections()).toBe(0)
})

it.each([
  ['ENOTFOUND', 'dns_not_found in dns'],
  ['EAI_AGAIN', 'dns_failed in dns'],
  ['EAI_FAIL', 'dns_failed in dns'],
])('a lookup that ends with %s is named so', async (code, expected) => {
  const sender = newSender({ lookup: (_, __, callback) => callback(dnsError(code), []) })
  expect(brief(await sender.post('http://hooks.test/'))).toBe(expected)
})

it('a name that does not exist, asked of the real resolver, is a DNS failure', async () => {
  const outcome = await newSender().post('http://no-such-host.invalid/')
  expect(outcome.error?.code).toMatch(/^dns_/)
})

it('a lookup that never answers ends at the deadline', async () => {
  const sender = newSender({ lookup: () => undefined })
  expect(brief(await sender.post('http://hooks.test/', { timeoutMs: 100 }))).toBe('timeout in dns')
  expect(sender.openConnections()).toBe(0)
})

it('a host that accepts no connection ends at the deadline', async () => {
  // A full backlog: the process that listens is busy for ever, and a few connections wait before ours.
  const script = `
    const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('fs').writeSync(1, String(server.address().port) + '\\n')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const port = Number(String((await once(child.stdout, 'data'))[0]))
  const waiting = Array.from({ length: 8 }, () => net.connect(port, '127.0.0.1').on('error', () => undefined))
  onTestFinished(() => waiting.forEach((socket) => void socket.destroy()))
  await once(waiting[0] as net.Socket, 'connect')

  const sender = newSender()
  expect(brief(await sender.post(`http://127.0.0.1:${port}/`, { timeoutMs: 300 }))).toBe('connect_timeout in connect')
  expect(sender.openConnections()).toBe(0)
})

it('a receiver that never answers ends at the deadline, and its connection is closed', async () => {
  let closed = Promise.resolve<unknown>(null)
  const server = await startRawServer(({ socket }) => {
    closed = once(socket, 'close')
  })
  const outcome = await newSender().post(server.url, { timeoutMs: 200 })
  expect(brief(outcome)).toBe('timeout in headers')
  await closed
})

it('a receiver that stops reading ends at the deadline', async () => {
  const server = await startRawServer(({ socket }) => void socket.pause())
  const outcome = await newSender().post(server.url, { timeoutMs: 300, body: Buffer.alloc(32_000_000) })
  expect(brief(outcome)).toBe('timeout in request')
})

it('an answer that came while the process was stalled past the deadline still counts', async () => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.write(ok)
    // The sender shares this process: the answer is in its socket now, and its deadline passes before it can read.
    const until = performance.now() + 300
    while (performance.now() < until);
  })
  expect(brief(await newSender().post(server.url, { timeoutMs: 200 }))).toBe('200')
})

it('the signal ends an attempt in any phase', async () => {
  const silent = await startRawServer(({ socket }) => void socket.resume())
  const sender = newSender({ lookup: () => undefined })
  const control = new AbortController()
  const attempts = [
    sender.post('http://hooks.test/', { signal: control.signal }),
    sender.post(silent.url, { signal: control.signal }),
    sender.post(silent.url, { signal: control.signal }),
  ]
  setTimeout(() => control.abort(), 50)
  for (const outcome of await Promise.all(attempts)) {
    expect(outcome).toMatchObject({ aborted: true, stale: false, response: null, error: { code: 'aborted' } })
  }
  expect(sender.openConnections()).toBe(0)
  expect(await sender.post(silent.url, { signal: control.signal })).toMatchObject({ aborted: true })
})

it('a status that came before the abort is what counts', async () => {
  const control = new AbortController()
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart')
    setTimeout(() => control.abort(), 50)
  })
  const outcome = await newSender().post(server.url, { signal: control.signal })
  expect(brief(outcome)).toBe('200 truncated')
  expect(outcome.aborted).toBe(false)
})

it('no message repeats secrets, path, query or payload', async () => {
  const echo = await startRawServer(async ({ socket, request }) => void socket.write(await request()))
  const sender = newSender({ lookup: (_, __, callback) => callback(dnsError('ENOTFOUND'), []) })
  const secret = { headers: { authorization: 'hunter2' }, body: Buffer.from('hunter2') }
  const urls = [`${echo.url}/hunter2?hunter2`, 'http://hooks.test/hunter2', 'http://u:hunter2@hooks.test/', 'x:hunter2']
  for (const url of urls) {
    const { error } = await sender.post(url, secret)
    expect(error?.message).toBeTruthy()
    expect(error?.message).not.toContain('hunter2')
  }
})
