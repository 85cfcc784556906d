import tls from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { selfSigned } from './certificate.ts'
import { brief, internalErrors, newSender } from './fixture.ts'
import { always, ok, startRawServer } from './raw-server.ts'

const trusted = selfSigned(['hooks.test', '127.0.0.1'])
const otherName = selfSigned(['other.test'])
const expired = selfSigned(['hooks.test'], { expired: true })
const untrusted = selfSigned(['hooks.test'])
const toLoopback = {
  lookup: (_: string, __: object, callback: (error: null, addresses: { address: string; family: number }[]) => void) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]),
}

const before = tls.getCACertificates('default')
beforeAll(() => tls.setDefaultCACertificates([...before, trusted.cert, otherName.cert, expired.cert]))
afterAll(() => tls.setDefaultCACertificates(before))

it.each([
  ['expired', expired, 'tls_expired in tls'],
  ['self-signed', untrusted, 'tls_untrusted in tls'],
  ['for another name', otherName, 'tls_name_mismatch in tls'],
  ['right', trusted, '200'],
])('a certificate that is %s', async (_, secure, expected) => {
  const server = await startRawServer(always(ok), { secure })
  const sender = newSender(toLoopback)
  expect(brief(await sender.post(`https://hooks.test:${server.port}/`))).toBe(expected)
  if (expected !== '200') {
    expect(server.requests).toEqual([])
    expect(sender.openConnections()).toBe(0)
  }
})

it('SNI names a name and never an address; an address is verified all the same', async () => {
  const names: unknown[] = []
  const serve = async (peer: Parameters<ReturnType<typeof always>>[0]): Promise<void> => {
    names.push((peer.socket as tls.TLSSocket).servername)
    await always(ok)(peer)
  }
  const server = await startRawServer(serve, { secure: trusted })
  const sender = newSender(toLoopback)
  expect(brief(await sender.post(`https://hooks.test:${server.port}/`))).toBe('200')
  expect(brief(await sender.post(`https://hooks.test.:${server.port}/`))).toBe('200')
  expect(brief(await sender.post(server.url))).toBe('200')
  expect(names).toEqual(['hooks.test', 'hooks.test', false])

  const withoutAddress = await startRawServer(always(ok), { secure: otherName })
  expect(brief(await sender.post(withoutAddress.url))).toBe('tls_name_mismatch in tls')
})

it('HTTP/2 is not offered', async () => {
  const offered: unknown[] = []
  const server = await startRawServer(
    async (peer) => {
      offered.push((peer.socket as tls.TLSSocket).alpnProtocol)
      await always(ok)(peer)
    },
    { secure: { ...trusted, ALPNProtocols: ['h2', 'http/1.1'] } as typeof trusted },
  )
  expect(brief(await newSender(toLoopback).post(`https://hooks.test:${server.port}/`))).toBe('200')
  expect(offered).toEqual(['http/1.1'])
})

it('http to a TLS port, and https to a plain one, fail readably', async () => {
  const secure = await startRawServer(always(ok), { secure: trusted })
  const plain = await startRawServer(always(ok))
  const sender = newSender()
  const toTls = await sender.post(`http://127.0.0.1:${secure.port}/`)
  expect(toTls.error?.code).toMatch(/^(connection_closed|connection_reset|response_invalid)$/)
  const answering = await startRawServer(({ socket }) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  expect(brief(await sender.post(`https://127.0.0.1:${answering.port}/`))).toBe('tls_failed in tls')
  // Waits for a request that never comes.
  expect(brief(await sender.post(`https://127.0.0.1:${plain.port}/`, { timeoutMs: 200 }))).toBe('timeout in tls')
  expect(internalErrors).toEqual([])
})

it('a server that closes within the handshake is a connection reset', async () => {
  const server = await startRawServer(({ socket }) => void socket.once('data', () => socket.destroy()))
  expect(brief(await newSender().post(`https://127.0.0.1:${server.port}/`))).toBe('connect_reset in tls')
})

it('a reused TLS connection that is reset before an answer is stale, a new one is not', async () => {
  const server = await startRawServer(
    async ({ socket, index, request }) => {
      await request()
      if (index === 0) {
        socket.write(ok)
        await request()
      }
      socket.destroy()
    },
    { secure: trusted },
  )
  const sender = newSender()
  expect(brief(await sender.post(server.url))).toBe('200')
  expect((await sender.post(server.url)).stale).toBe(true)
  expect((await sender.post(server.url)).stale).toBe(false)
})

it('a receiver that closes behind a large body harms nothing over TLS', async () => {
  const server = await startRawServer(
    async ({ socket, request }) => {
      await request()
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 200000\r\nconnection: close\r\n\r\n${'b'.repeat(200_000)}`)
    },
    { secure: trusted },
  )
  const sender = newSender()
  for (let round = 0; round < 10; round++) {
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => sender.post(server.url)))
    for (const outcome of outcomes) expect(brief(outcome)).toBe('200 truncated')
  }
})
