import net, { type Socket } from 'node:net'
import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDnsServer } from '../support/dns-server.ts'
import { findTinyproxy, startTinyproxy } from '../support/tinyproxy.ts'
import { eventually } from '../support/wait.ts'
import { selfSigned } from './certificate.ts'
import { brief, internalErrors, newSender, type TestSender } from './fixture.ts'
import { always, ok, type RawServer, startRawServer } from './raw-server.ts'

const trusted = selfSigned(['hooks.test', '127.0.0.1'])
const before = tls.getCACertificates('default')
beforeAll(() => tls.setDefaultCACertificates([...before, trusted.cert]))
afterAll(() => tls.setDefaultCACertificates(before))

const through = (port: number, deps: Parameters<typeof newSender>[0] = {}): TestSender =>
  newSender({ egressProxy: { hostname: '127.0.0.1', port, authorization: null }, ...deps })

/** A proxy that reads the CONNECT and does what it is told. */
async function startProxy(
  serve: (socket: Socket, target: string) => void,
): Promise<RawServer & { asked: string[]; heads: string[] }> {
  const [asked, heads]: string[][] = [[], []]
  const server = await startRawServer(({ socket }) => {
    socket.once('data', (chunk) => {
      const head = chunk.toString('latin1')
      const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? ''
      heads?.push(head)
      asked?.push(target)
      serve(socket, target)
    })
  })
  return { ...server, asked: asked ?? [], heads: heads ?? [] }
}

const tunnel = (socket: Socket, target: string): void => {
  const [host, port] = [target.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''), Number(/\d+$/.exec(target)?.[0])]
  const other = net.connect(port, host, () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    socket.pipe(other).pipe(socket)
  })
  other.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'))
  socket.once('close', () => other.destroy())
}

describe('through a proxy of the test', () => {
  it('the proxy is told the checked address, never the name, and resolves nothing', async () => {
    const server = await startRawServer(always(ok))
    const proxy = await startProxy(tunnel)
    const dns = await startDnsServer((_, type) => (type === 'A' ? ['127.0.0.1'] : []))
    const sender = through(proxy.port, { nameServers: [dns.address] })
    for (let turn = 0; turn < 3; turn++) {
      expect(brief(await sender.post(`http://hooks.test:${server.port}/`))).toBe('200')
    }
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`])
    expect(proxy.heads[0]).not.toContain('hooks.test')
    expect(server.requests[0]).toContain(`host: hooks.test:${server.port}`)
    expect(server.accepted()).toBe(1)
  })

  it('TLS runs to the receiver, and verifies its name', async () => {
    const server = await startRawServer(always(ok), { secure: trusted })
    const proxy = await startProxy(tunnel)
    const dns = await startDnsServer((_, type) => (type === 'A' ? ['127.0.0.1'] : []))
    const sender = through(proxy.port, { nameServers: [dns.address] })
    expect(brief(await sender.post(`https://hooks.test:${server.port}/`))).toBe('200')
    expect(brief(await sender.post(`https://127.0.0.1:${server.port}/`))).toBe('200')
    expect(brief(await sender.post(`https://other.test:${server.port}/`))).toBe('tls_name_mismatch in tls')
  })

  it('the guard is the same: nothing that is not public is asked of the proxy', async () => {
    const proxy = await startProxy(tunnel)
    const dns = await startDnsServer((_, type) => (type === 'A' ? ['10.0.0.1'] : []))
    const sender = through(proxy.port, { nameServers: [dns.address], allowedTargets: [] })
    for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', 'hooks.test', 'localhost', '0x7f.1']) {
      expect(`${host} ${brief(await sender.post(`http://${host}/`))}`).toBe(`${host} target_refused in target`)
    }
    expect(proxy.accepted()).toBe(0)
  })

  it('IPv6 is asked for in brackets', async () => {
    const server = await startRawServer(always(ok), { host: '::1' })
    const proxy = await startProxy(tunnel)
    expect(brief(await through(proxy.port).post(`http://[::1]:${server.port}/`))).toBe('200')
    expect(proxy.asked).toEqual([`[::1]:${server.port}`])
  })

  it('an address that was opened alone is dialled directly', async () => {
    const server = await startRawServer(always(ok))
    const proxy = await startProxy(tunnel)
    const sender = through(proxy.port, { allowedTargets: [{ address: '127.0.0.1', port: server.port }] })
    expect(brief(await sender.post(server.url))).toBe('200')
    expect(proxy.accepted()).toBe(0)
  })

  it('the next address is tried when the proxy cannot reach the first', async () => {
    const server = await startRawServer(always(ok), { host: '127.0.0.2' })
    const proxy = await startProxy(tunnel)
    const dns = await startDnsServer((_, type) => (type === 'A' ? ['127.0.0.1', '127.0.0.2'] : []))
    const sender = through(proxy.port, { nameServers: [dns.address] })
    expect(brief(await sender.post(`http://hooks.test:${server.port}/`))).toBe('200')
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`, `127.0.0.2:${server.port}`])
  })

  it('credentials go to the proxy, and to nobody else', async () => {
    const server = await startRawServer(always(ok))
    const proxy = await startProxy(tunnel)
    const egressProxy = { hostname: '127.0.0.1', port: proxy.port, authorization: 'Basic bWU6aHVudGVyMg==' }
    expect(brief(await newSender({ egressProxy }).post(server.url))).toBe('200')
    expect(proxy.heads[0]).toContain('proxy-authorization: Basic bWU6aHVudGVyMg==')
    expect(server.requests[0]).not.toMatch(/authorization/i)
  })

  it.each<[string, (socket: Socket) => void, string]>([
    ['403', (socket) => void socket.end('HTTP/1.1 403 Forbidden\r\n\r\nno'), 'proxy_refused in proxy'],
    ['407', (socket) => void socket.end('HTTP/1.1 407 X\r\ncontent-length: 0\r\n\r\n'), 'proxy_refused in proxy'],
    ['302', (socket) => void socket.end('HTTP/1.1 302 X\r\nlocation: /\r\n\r\n'), 'proxy_refused in proxy'],
    ['502', (socket) => void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'), 'proxy_connect_failed in connect'],
    ['503', (socket) => void socket.end('HTTP/1.1 503 X\r\n\r\n'), 'proxy_connect_failed in connect'],
    ['504', (socket) => void socket.end('HTTP/1.1 504 X\r\n\r\n'), 'proxy_connect_failed in connect'],
    ['no HTTP', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'), 'proxy_failed in proxy'],
    ['nothing, and closes', (socket) => void socket.end(), 'proxy_failed in proxy'],
    ['nothing, and resets', (socket) => void socket.resetAndDestroy(), 'proxy_failed in proxy'],
    [
      'a head without end',
      (socket) => void socket.write(`HTTP/1.1 200 X\r\nx: ${'v'.repeat(100_000)}`),
      'proxy_failed in proxy',
    ],
    ['nothing at all', () => undefined, 'connect_timeout in connect'],
    ['yes, and closes', (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'), 'connection_closed in headers'],
  ])('a proxy that answers %s', async (_, serve, expected) => {
    const proxy = await startProxy(serve)
    const sender = through(proxy.port)
    const outcome = await sender.post('http://127.0.0.1:9/hunter2', { timeoutMs: 1_000 })
    expect(brief(outcome)).toBe(expected)
    expect([outcome.stale, outcome.response]).toEqual([false, null])
    // The owner of an endpoint learns nothing of where the proxy is.
    expect(outcome.error?.message).not.toMatch(new RegExp(`hunter2|:${proxy.port}`))
    await eventually(() => sender.openConnections() === 0 && proxy.open() === 0, 5_000)
    expect(internalErrors).toEqual([])
  })

  it('a proxy that is not there is named so, by address and by name', async () => {
    const dns = await startDnsServer((name) => (name === 'proxy.test' ? 'nxdomain' : ['127.0.0.1']))
    expect(brief(await through(1).post('http://127.0.0.1:9/'))).toBe('proxy_unreachable in proxy')
    const egressProxy = { hostname: 'proxy.test', port: 1, authorization: null }
    const sender = newSender({ egressProxy, nameServers: [dns.address] })
    expect(brief(await sender.post('http://127.0.0.1:9/'))).toBe('proxy_unreachable in proxy')
  })

  it('an answer that comes with that of the proxy, before anything was asked, is none; and nothing is dialled again', async () => {
    const proxy = await startProxy((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n\r\n${ok.slice(0, 9)}`)
      socket.on('data', () => socket.write(ok.slice(9)))
    })
    expect(brief(await through(proxy.port).post('http://127.0.0.1:9/'))).toMatch(/^response_invalid in /)
    expect(proxy.accepted()).toBe(1)
  })

  it('an attempt that is aborted, or a sender that stops, leaves no tunnel', async () => {
    const proxy = await startProxy(() => undefined)
    const sender = through(proxy.port)
    const control = new AbortController()
    const aborted = sender.post('http://127.0.0.1:9/', { signal: control.signal })
    const stopped = sender.post('http://127.0.0.1:9/')
    await eventually(() => proxy.asked.length === 2, 5_000)
    control.abort()
    expect(await aborted).toMatchObject({ aborted: true })
    await sender.stop()
    expect(await stopped).toMatchObject({ aborted: true })
    await eventually(() => proxy.open() === 0, 5_000)
  })
})

const tinyproxy = findTinyproxy()
if (!tinyproxy)
  console.warn('SKIPPED: no real egress proxy is tested here, for there is no tinyproxy (apt: tinyproxy-bin)')

describe.skipIf(!tinyproxy)('through tinyproxy', () => {
  it('http and https are delivered, over one tunnel each', async () => {
    const plain = await startRawServer(always(ok))
    const secure = await startRawServer(always(ok), { secure: trusted })
    const proxy = await startTinyproxy(tinyproxy!)
    const sender = through(proxy.port)
    for (const server of [plain, secure]) {
      for (let turn = 0; turn < 3; turn++) expect(brief(await sender.post(server.url))).toBe('200')
      expect(server.accepted()).toBe(1)
    }
    expect(proxy.log().match(/CONNECT 127\.0\.0\.1:\d+/g)).toHaveLength(2)
  })

  it('a receiver that is not there, and a proxy that refuses, are told apart', async () => {
    const server = await startRawServer(always(ok))
    const open = await startTinyproxy(tinyproxy!)
    expect(brief(await through(open.port).post('http://127.0.0.1:1/'))).toBe('proxy_connect_failed in connect')
    const closed = await startTinyproxy(tinyproxy!, ['ConnectPort 443'])
    expect(brief(await through(closed.port).post(server.url))).toBe('proxy_refused in proxy')
  })

  it('it wants the right password', async () => {
    const server = await startRawServer(always(ok))
    const proxy = await startTinyproxy(tinyproxy!, ['BasicAuth me hunter2'])
    const withPassword = (password: string): TestSender => {
      const authorization = `Basic ${Buffer.from(`me:${password}`).toString('base64')}`
      return newSender({ egressProxy: { hostname: '127.0.0.1', port: proxy.port, authorization } })
    }
    expect(brief(await withPassword('hunter2').post(server.url))).toBe('200')
    expect(brief(await withPassword('wrong').post(server.url))).toBe('proxy_refused in proxy')
    expect(brief(await through(proxy.port).post(server.url))).toBe('proxy_refused in proxy')
  })
})
