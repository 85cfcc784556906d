import { expect, it } from 'vitest'
import type { SenderDeps } from '../../apps/dispatcher/src/sender/index.ts'
import { brief, newSender } from './fixture.ts'
import { always, ok, startRawServer } from './raw-server.ts'

/** Resolves each name to the next of these answers. */
const answers = (...turns: string[][]): NonNullable<SenderDeps['lookup']> => {
  let turn = 0
  return (_, __, callback) => {
    const addresses = turns[Math.min(turn++, turns.length - 1)] ?? []
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
}

it.each(['127.0.0.1', '127.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', 'localhost'])(
  'by default no spelling of loopback is reached: %s',
  async (host) => {
    const server = await startRawServer(always(ok), { host: host === '[::1]' ? '::1' : '127.0.0.1' })
    const sender = newSender({ allowedTargets: [] })
    const outcome = await sender.post(`http://${host}:${server.port}/`)
    expect(outcome).toMatchObject({ error: { code: 'target_refused', phase: 'target' }, response: null, stale: false })
    expect(server.accepted()).toBe(0)
    expect(sender.openConnections()).toBe(0)
  },
)

it.each([
  'http://169.254.169.254/latest/meta-data/',
  'http://[::1]/',
  'https://10.0.0.1/',
  'http://[64:ff9b::a9fe:a9fe]/',
])('what is not opened stays closed, though other networks are open: %s', async (url) => {
  const sender = newSender({ allowedTargets: [{ cidr: '127.0.0.0/8' }] })
  expect(brief(await sender.post(url))).toBe('target_refused in target')
})

it.each([
  'file:///etc/passwd',
  'gopher://127.0.0.1/',
  'ws://127.0.0.1/',
  'http://u:p@127.0.0.1/',
  'http://127.0.0.1:0/',
])('a URL that is no plain http or https URL is refused: %s', async (url) =>
  expect(brief(await newSender().post(url))).toBe('target_refused in target'),
)

it('text that is no URL is a value too', async () => {
  for (const url of ['', '//h.test/x', 'http://', 'https://h.test:99999/']) {
    expect(brief(await newSender().post(url))).toBe('url_invalid in target')
  }
})

it.each([
  ['a private address', ['10.0.0.5']],
  ['a mapped loopback', ['::ffff:10.0.0.5']],
  ['an allowed and a private one', ['127.0.0.1', '10.0.0.5']],
  ['a private and an allowed one', ['10.0.0.5', '127.0.0.1']],
  ['an allowed and a local IPv6', ['127.0.0.1', 'fe80::1']],
  ['a metadata address by NAT64', ['64:ff9b::a9fe:a9fe']],
])('a name that resolves to %s is refused, and nothing is connected to', async (_, addresses) => {
  const server = await startRawServer(always(ok))
  const sender = newSender({ lookup: answers(addresses) })
  const outcome = await sender.post(`http://hooks.test:${server.port}/`)
  expect(brief(outcome)).toBe('target_refused in target')
  // The endpoint's owner learns no internal address from it.
  expect(outcome.error?.message).not.toMatch(/10\.0\.0\.5|fe80|a9fe/)
  expect(server.accepted()).toBe(0)
})

it('a name is checked at each connection, by the very answer that is connected to', async () => {
  const server = await startRawServer(always(ok))
  const lookup = answers(['127.0.0.1'], ['10.0.0.5'], ['127.0.0.1'])
  const sender = newSender({ lookup })
  const url = `http://hooks.test:${server.port}/`
  expect(brief(await sender.post(url))).toBe('200')
  expect(brief(await sender.post(url, { fresh: true }))).toBe('target_refused in target')
  expect(brief(await sender.post(url, { fresh: true }))).toBe('200')
})

it('one opened port of an address opens no other', async () => {
  const [open, closed] = [await startRawServer(always(ok)), await startRawServer(always(ok))]
  const sender = newSender({
    allowedTargets: [{ address: '127.0.0.1', port: open.port }],
    lookup: answers(['127.0.0.1']),
  })
  expect(brief(await sender.post(open.url))).toBe('200')
  expect(brief(await sender.post(`http://hooks.test:${open.port}/`))).toBe('200')
  expect(brief(await sender.post(closed.url))).toBe('target_refused in target')
  expect(brief(await sender.post(`http://hooks.test:${closed.port}/`))).toBe('target_refused in target')
})

it('a name with several addresses reaches the one that listens', async () => {
  const server = await startRawServer(always(ok))
  const sender = newSender({ lookup: answers(['::1', '127.0.0.1']) })
  expect(brief(await sender.post(`http://hooks.test:${server.port}/`))).toBe('200')
})

it('IPv6 is reached by its literal', async () => {
  const server = await startRawServer(always(ok), { host: '::1' })
  expect(brief(await newSender().post(`http://[::1]:${server.port}/`))).toBe('200')
  expect(server.requests[0]).toContain(`host: [::1]:${server.port}`)
})
