import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { eventually } from '../support/wait.ts'
import { brief, newSender } from './fixture.ts'
import { always, ok, type Peer, startRawServer } from './raw-server.ts'

/** Answers the first request, then ends the connection as told when the second has come. */
const endsAtSecond =
  (end: (socket: Socket) => void) =>
  async ({ socket, index, request }: Peer): Promise<void> => {
    if (index > 0) return always(ok)({ socket, index, request })
    await request()
    socket.write(ok)
    await request()
    end(socket)
  }

it('a connection is used again, by one request at a time', async () => {
  const server = await startRawServer(always(ok))
  const sender = newSender()
  for (let turn = 0; turn < 5; turn++) expect(brief(await sender.post(server.url))).toBe('200')
  expect(server.accepted()).toBe(1)
  await Promise.all(Array.from({ length: 20 }, () => sender.post(server.url)))
  expect(server.accepted()).toBe(20)
  await Promise.all(Array.from({ length: 20 }, () => sender.post(server.url)))
  expect(server.accepted()).toBe(20)
})

const endings: [string, (socket: Socket) => void][] = [
  ['reset', (socket) => void socket.resetAndDestroy()],
  ['closed', (socket) => void socket.end()],
]

it.each(endings)('a connection %s while it was idle is not used again once that is known', async (_, end) => {
  const idle: Socket[] = []
  const server = await startRawServer(async (peer) => {
    idle.push(peer.socket)
    await always(ok)(peer)
  })
  const sender = newSender()
  expect(brief(await sender.post(server.url))).toBe('200')
  for (const socket of idle) end(socket)
  await eventually(() => sender.openConnections() === 0, 2_000)
  const outcome = await sender.post(server.url)
  expect([brief(outcome), outcome.stale]).toEqual(['200', false])
})

it.each(endings)(
  'a connection %s while it was idle, just when it is used, is stale or costs nothing',
  async (_, end) => {
    let stale = 0
    for (let turn = 0; turn < 20; turn++) {
      let idle: Socket | null = null
      const server = await startRawServer(async (peer) => {
        idle ??= peer.socket
        await always(ok)(peer)
      })
      const sender = newSender()
      expect(brief(await sender.post(server.url))).toBe('200')
      end(idle as unknown as Socket)
      // Before the end of the connection can have been read here.
      const outcome = await sender.post(server.url)
      if (outcome.response) continue
      stale++
      expect([outcome.error?.phase, outcome.stale]).toEqual(['headers', true])
      expect(brief(await sender.post(server.url, { fresh: true }))).toBe('200')
    }
    expect(stale).toBeGreaterThan(0)
  },
)

it.each([
  ['reset', (socket: Socket) => void socket.resetAndDestroy(), 'connection_reset in headers'],
  ['closed', (socket: Socket) => void socket.end(), 'connection_closed in headers'],
])(
  'a reused connection %s before any byte of the answer is stale, and a fresh one then delivers',
  async (_, end, error) => {
    const server = await startRawServer(endsAtSecond(end))
    const sender = newSender()
    expect(await sender.post(server.url)).toMatchObject({ stale: false, error: null })
    const outcome = await sender.post(server.url)
    expect([brief(outcome), outcome.stale, outcome.aborted]).toEqual([error, true, false])
    // One attempt is one request: trying again is the caller's decision.
    expect(server.requests).toHaveLength(2)
    expect(brief(await sender.post(server.url, { fresh: true }))).toBe('200')
    expect(server.requests).toHaveLength(3)
  },
)

it('a first request that is read and then reset is not stale, and is made once', async () => {
  const server = await startRawServer(async ({ socket, request }) => {
    await request()
    socket.resetAndDestroy()
  })
  const sender = newSender()
  const outcome = await sender.post(server.url)
  expect([brief(outcome), outcome.stale]).toEqual(['connection_reset in headers', false])
  expect(server.requests).toHaveLength(1)
  expect(server.accepted()).toBe(1)
})

it.each(['H', 'HTTP/1.1 200 OK\r\nx-a'])('a reused connection reset after %j is not stale', async (part) => {
  const server = await startRawServer(
    endsAtSecond((socket) => {
      // A reset drops what the other side has not read yet: wait until it has.
      socket.write(part, () => setTimeout(() => socket.resetAndDestroy(), 50))
    }),
  )
  const sender = newSender()
  await sender.post(server.url)
  const outcome = await sender.post(server.url)
  expect([brief(outcome), outcome.stale]).toEqual(['connection_reset in headers', false])
})

it('a reused connection that only times out is not stale', async () => {
  const server = await startRawServer(endsAtSecond(() => undefined))
  const sender = newSender()
  await sender.post(server.url)
  const outcome = await sender.post(server.url, { timeoutMs: 100 })
  expect([brief(outcome), outcome.stale]).toEqual(['timeout in headers', false])
})

it('a fresh request passes over idle connections, and its own is used afterwards', async () => {
  const server = await startRawServer(always(ok))
  const sender = newSender()
  await sender.post(server.url)
  await sender.post(server.url, { fresh: true })
  expect(server.accepted()).toBe(2)
  await sender.post(server.url)
  expect(server.accepted()).toBe(2)
})

it('a stray second answer is not taken for the next one', async () => {
  const server = await startRawServer(async (peer) => {
    const stray = 'HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n'
    await always(ok + stray)(peer)
  })
  const sender = newSender()
  for (let turn = 0; turn < 3; turn++) expect(brief(await sender.post(server.url))).toBe('200')
})

it('a connection past its age is not used again, so that a change in DNS is noticed', async () => {
  const reached: unknown[] = []
  const server = await startRawServer(
    async (peer) => {
      reached.push(peer.socket.localAddress)
      await always(ok)(peer)
    },
    { host: '0.0.0.0' },
  )
  let address = '127.0.0.1'
  const asked: string[] = []
  const sender = newSender({
    maxConnectionAgeMs: 0,
    lookup: (hostname, _, callback) => {
      asked.push(hostname)
      callback(null, [{ address, family: 4 }])
    },
  })
  await sender.post(`http://hooks.test:${server.port}/`)
  address = '127.0.0.2'
  await sender.post(`http://hooks.test:${server.port}/`)
  expect(asked).toEqual(['hooks.test', 'hooks.test'])
  expect(reached).toEqual(['127.0.0.1', '127.0.0.2'])
})

it('lookups of one name that are under way are shared', async () => {
  const server = await startRawServer(always(ok))
  let asked = 0
  const sender = newSender({
    lookup: (_, __, callback) => {
      asked++
      setImmediate(() => callback(null, [{ address: '127.0.0.1', family: 4 }]))
    },
  })
  await Promise.all(Array.from({ length: 20 }, () => sender.post(`http://hooks.test:${server.port}/`)))
  expect(asked).toBe(1)
})

it('500 origins leave nothing behind once they are idle', async () => {
  const server = await startRawServer(always(ok), { host: '0.0.0.0' })
  const sender = newSender({ keepAliveMs: 500 })
  const urls = Array.from(
    { length: 500 },
    (_, index) => `http://127.0.${index >> 7}.${(index & 127) + 1}:${server.port}/`,
  )
  const outcomes = await Promise.all(urls.map((url) => sender.post(url)))
  expect(new Set(outcomes.map(brief))).toEqual(new Set(['200']))
  expect(server.accepted()).toBe(500)
  await eventually(() => sender.openConnections() === 0 && server.open() === 0, 10_000)
})

it('idle connections are bounded over all origins; the longest idle goes', async () => {
  const server = await startRawServer(always(ok), { host: '0.0.0.0' })
  const sender = newSender({ maxIdleConnections: 2 })
  const url = (last: number): string => `http://127.0.0.${last}:${server.port}/`
  for (const last of [1, 2, 3]) expect(brief(await sender.post(url(last)))).toBe('200')
  expect(sender.openConnections()).toBe(2)
  for (const last of [2, 3]) expect(brief(await sender.post(url(last)))).toBe('200')
  expect(server.accepted()).toBe(3)
  expect(brief(await sender.post(url(1)))).toBe('200')
  expect(server.accepted()).toBe(4)
})

it('an answer that says close leaves no connection', async () => {
  const server = await startRawServer(always('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'))
  const sender = newSender()
  for (let turn = 0; turn < 3; turn++) expect(brief(await sender.post(server.url))).toBe('200')
  expect(server.accepted()).toBe(3)
  await eventually(() => sender.openConnections() === 0, 2_000)
})

it('a quiet connection is used again without delay', async () => {
  const server = await startRawServer(always(ok))
  const sender = newSender()
  await sender.post(server.url)
  const times: number[] = []
  for (let turn = 0; turn < 30; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    times.push((await sender.post(server.url)).durationMs)
  }
  expect(times.sort((a, b) => a - b)[15]).toBeLessThan(50)
  expect(server.accepted()).toBe(1)
})

it('stop aborts what runs, closes all, and can be called twice', async () => {
  const server = await startRawServer(async (peer) => {
    if (peer.index > 0) await always(ok)(peer)
    else await once(peer.socket, 'close')
  })
  const sender = newSender()
  const hanging = sender.post(server.url)
  await eventually(() => server.accepted() === 1, 2_000)
  expect(brief(await sender.post(server.url))).toBe('200')
  await Promise.all([sender.stop(), sender.stop()])
  expect(await hanging).toMatchObject({ aborted: true, error: { code: 'aborted' } })
  expect(sender.openConnections()).toBe(0)
  expect(await sender.post(server.url)).toMatchObject({ aborted: true })
  await eventually(() => server.open() === 0, 2_000)
})
