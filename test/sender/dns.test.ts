import { networkInterfaces } from 'node:os'
import { expect, it } from 'vitest'
import { startDnsServer } from '../support/dns-server.ts'
import { brief, newSender } from './fixture.ts'
import { always, ok, startRawServer } from './raw-server.ts'

it('a name that flips between check, connect and retry reaches no address that is not allowed', async () => {
  // The packet-level proof: whoever connects to the forbidden address is accepted, and counted, by this listener.
  const open = await startRawServer(always(ok), { host: '127.0.0.1' })
  const forbidden = await startRawServer(always('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret'), {
    host: '127.0.0.9',
    port: open.port,
  })
  const dns = await startDnsServer((_, type, turn) =>
    type === 'AAAA' ? [] : [turn % 2 === 0 ? '127.0.0.1' : '127.0.0.9'],
  )
  const sender = newSender({ allowedTargets: [{ cidr: '127.0.0.1/32' }], nameServers: [dns.address] })
  const outcomes: string[] = []
  for (let turn = 0; turn < 20; turn++) {
    const outcome = await sender.post(`http://rebind.test:${open.port}/`, { fresh: true })
    outcomes.push(brief(outcome))
    expect(JSON.stringify(outcome)).not.toContain('secret')
  }
  expect(outcomes).toEqual(Array.from({ length: 10 }, () => ['200', 'target_refused in target']).flat())
  // One question of each family for each attempt: what was checked is what was dialled.
  expect(dns.asked).toHaveLength(40)
  expect(open.accepted()).toBe(10)
  expect(forbidden.accepted()).toBe(0)
})

it.each([
  ['first', ['127.0.0.9', '127.0.0.1']],
  ['last', ['127.0.0.1', '127.0.0.9']],
  ['among many', ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.9']],
  ['of the other family', ['127.0.0.1', '::1']],
])('one forbidden address refuses the name, and none of its addresses is connected to: %s', async (_, addresses) => {
  const open = await startRawServer(always(ok), { host: '127.0.0.1' })
  const forbidden = await startRawServer(always(ok), { host: '127.0.0.9', port: open.port })
  const dns = await startDnsServer(() => addresses)
  const allowedTargets = ['1', '2', '3', '4', '5', '6'].map((last) => ({ cidr: `127.0.0.${last}/32` }))
  const sender = newSender({ allowedTargets, nameServers: [dns.address] })
  expect(brief(await sender.post(`http://both.test:${open.port}/`))).toBe('target_refused in target')
  expect([open.accepted(), forbidden.accepted()]).toEqual([0, 0])
})

it('a listener on a forbidden address sees no connection, whatever the spelling', async () => {
  const forbidden = await startRawServer(always(ok), { host: '127.0.0.9' })
  const hosts = ['127.0.0.9', '127.9', '0x7f000009', '2130706441', '0177.0.0.011', '127.0.0.9.', '[::ffff:127.0.0.9]']
  const sender = newSender({ allowedTargets: [{ cidr: '127.0.0.1/32' }] })
  for (const host of [...hosts, '[::ffff:7f00:9]', '①②⑦.⓪.⓪.⑨', '[64:ff9b::7f00:9]', '[2002:7f00:9::]']) {
    for (const scheme of ['http', 'https']) {
      const outcome = await sender.post(`${scheme}://${host}:${forbidden.port}/`)
      expect(`${host} ${brief(outcome)}`).toBe(`${host} target_refused in target`)
    }
  }
  expect(forbidden.accepted()).toBe(0)
})

it('dead names do not hold up the others', async () => {
  const server = await startRawServer(always(ok))
  const dns = await startDnsServer((name) => (name.startsWith('dead') ? 'silent' : ['127.0.0.1']))
  const sender = newSender({ nameServers: [dns.address] })
  const dead = Array.from({ length: 100 }, (_, n) => sender.post(`http://dead${n}.test/`, { timeoutMs: 4_000 }))
  const startedAt = performance.now()
  for (let n = 0; n < 20; n++) expect(brief(await sender.post(`http://live${n}.test:${server.port}/`))).toBe('200')
  // All of them came while no dead name had been given up.
  expect(performance.now() - startedAt).toBeLessThan(4_000)
  for (const outcome of await Promise.all(dead)) expect(brief(outcome)).toBe('timeout in dns')
  // Those of the living, idle.
  expect(sender.openConnections()).toBeLessThanOrEqual(20)
})

it('a name server that answers for one family alone does not hold up the attempt', async () => {
  const server = await startRawServer(always(ok))
  const dns = await startDnsServer((_, type) => (type === 'AAAA' ? 'silent' : ['127.0.0.1']))
  const outcome = await newSender({ nameServers: [dns.address] }).post(`http://half.test:${server.port}/`)
  expect(brief(outcome)).toBe('200')
  expect(outcome.durationMs).toBeLessThan(2_000)
})

it.each([
  ['nxdomain', 'nxdomain', 'dns_not_found in dns'],
  ['no address', [], 'dns_not_found in dns'],
  ['servfail', 'servfail', 'dns_failed in dns'],
] as const)('a name server that says %s', async (_, reply, expected) => {
  const dns = await startDnsServer(() => reply)
  expect(brief(await newSender({ nameServers: [dns.address] }).post('http://hooks.test/'))).toBe(expected)
})

it('a family that could not be asked leaves it open whether the name exists', async () => {
  const dns = await startDnsServer((_, type) => (type === 'A' ? [] : 'servfail'))
  expect(brief(await newSender({ nameServers: [dns.address] }).post('http://hooks.test/'))).toBe('dns_failed in dns')
})

it('a name server that is not there is a failure to resolve', async () => {
  const sender = newSender({ nameServers: ['127.0.0.1:1'] })
  expect(brief(await sender.post('http://hooks.test/', { timeoutMs: 15_000 }))).toBe('dns_failed in dns')
})

it('a host that has IPv6 alone is reached', async () => {
  const server = await startRawServer(always(ok), { host: '::1' })
  const dns = await startDnsServer((_, type) => (type === 'AAAA' ? ['::1'] : []))
  expect(brief(await newSender({ nameServers: [dns.address] }).post(`http://six.test:${server.port}/`))).toBe('200')
})

it('of a host that is half dead the living half is reached', async () => {
  // Nothing listens at that port of the other addresses.
  const server = await startRawServer(always(ok), { host: '::1' })
  const dns = await startDnsServer(() => ['127.0.0.1', '127.0.0.2', '::1'])
  expect(brief(await newSender({ nameServers: [dns.address] }).post(`http://half.test:${server.port}/`))).toBe('200')
})

it('a host none of whose addresses listens is refused by it, though one family has no route', async () => {
  const dns = await startDnsServer(() => ['127.0.0.1', 'fd00:1::1'])
  const sender = newSender({
    nameServers: [dns.address],
    allowedTargets: [{ cidr: '127.0.0.0/8' }, { cidr: 'fd00:1::/32' }],
  })
  const routed = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => address.startsWith('fd00:1:')),
  )
  expect(routed).toBe(false)
  expect(brief(await sender.post('http://dead.test:1/'))).toBe('connect_refused in connect')
})

it('names of this machine are resolved without a name server, and are no search names', async () => {
  const dns = await startDnsServer(() => 'nxdomain')
  const server = await startRawServer(always(ok))
  const sender = newSender({ nameServers: [dns.address] })
  for (const host of ['localhost', 'LocalHost.', 'a.localhost']) {
    expect(brief(await sender.post(`http://${host}:${server.port}/`))).toBe('200')
  }
  expect(dns.asked).toEqual([])
  expect(brief(await sender.post('http://single/'))).toBe('dns_not_found in dns')
  expect(new Set(dns.asked)).toEqual(new Set(['A single', 'AAAA single']))
})

it('a new address is used within the age of a connection, though the old one still answers', async () => {
  const before = await startRawServer(always(ok), { host: '127.0.0.1' })
  const after = await startRawServer(always(ok), { host: '127.0.0.2', port: before.port })
  let moved = false
  const dns = await startDnsServer((_, type) => (type === 'AAAA' ? [] : [moved ? '127.0.0.2' : '127.0.0.1']))
  const sender = newSender({ nameServers: [dns.address], maxConnectionAgeMs: 300 })
  const url = `http://moving.test:${before.port}/`
  expect(brief(await sender.post(url))).toBe('200')
  moved = true
  const deadline = Date.now() + 5_000
  while (after.accepted() === 0 && Date.now() < deadline) expect(brief(await sender.post(url))).toBe('200')
  expect(after.accepted()).toBe(1)
  expect(before.accepted()).toBe(1)
})
