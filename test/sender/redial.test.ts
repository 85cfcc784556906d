import tls from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { selfSigned } from './certificate.ts'
import { brief, internalErrors, newSender } from './fixture.ts'
import { always, ok, type Peer, startRawServer } from './raw-server.ts'

const trusted = selfSigned(['127.0.0.1'])
const before = tls.getCACertificates('default')
beforeAll(() => tls.setDefaultCACertificates([...before, trusted.cert]))
afterAll(() => tls.setDefaultCACertificates(before))

const early: [string, (peer: Peer) => void][] = [
  ['answers', ({ socket }) => void socket.write(ok)],
  ['says what is no HTTP', ({ socket }) => void socket.write('220 mail.test ESMTP\r\n')],
  ['closes', ({ socket }) => void socket.end()],
  ['resets', ({ socket }) => void socket.destroy()],
]

it.each(early.flatMap(([what, serve]) => [true, false].map((secure) => ({ what, serve, secure }))))(
  'a receiver that $what before it is asked is connected to once an attempt (TLS: $secure)',
  async ({ serve, secure }) => {
    const server = await startRawServer(serve, secure ? { secure: trusted } : {})
    const sender = newSender()
    for (let turn = 1; turn <= 10; turn++) {
      const outcome = await sender.post(server.url, { timeoutMs: 2_000, fresh: true })
      expect(brief(outcome)).toMatch(
        /^(200|(response_invalid|connection_closed|connection_reset) in (request|headers))$/,
      )
      expect(server.accepted()).toBe(turn)
    }
    expect(internalErrors).toEqual([])
  },
)

it('a connection that is found closed when it is used again is dialled again, once', async () => {
  let closing = false
  const server = await startRawServer(async (peer) => {
    if (closing) peer.socket.destroy()
    else await always(ok)(peer)
  })
  const sender = newSender({ keepAliveMs: 60_000 })
  expect(brief(await sender.post(server.url))).toBe('200')
  closing = true
  for (let turn = 0; turn < 5; turn++) {
    const accepted = server.accepted()
    await sender.post(server.url, { timeoutMs: 2_000 })
    expect(server.accepted() - accepted).toBeLessThanOrEqual(1)
  }
})
