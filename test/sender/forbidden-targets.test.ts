import { createTargetRules } from '@posthorn/core'
import { expect, it } from 'vitest'
import { createTargetGuard } from '../../apps/dispatcher/src/sender/target-guard.ts'
import { startDnsServer } from '../support/dns-server.ts'
import {
  forbiddenHosts,
  forbiddenIPv4,
  forbiddenIPv6,
  forbiddenUrls,
  publicIPv4,
  publicIPv6,
  publicUrls,
} from '../support/targets.ts'
import { brief, newSender } from './fixture.ts'

const refused = /^(target_refused|url_invalid) in target$/
const forbidden = [...forbiddenIPv4, ...forbiddenIPv6]
const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address)

it('the tables are long enough', () => {
  const all = [...forbidden, ...forbiddenHosts, ...forbiddenUrls]
  expect(new Set(all).size).toBe(all.length)
  expect(all.length).toBeGreaterThan(300)
  expect(publicIPv4.length + publicIPv6.length + publicUrls.length).toBeGreaterThan(60)
})

it('no forbidden address, spelling or URL is connected to', async () => {
  const sender = newSender({ allowedTargets: [], nameServers: [] })
  const urls = [...[...forbidden.map(bracketed), ...forbiddenHosts].map((host) => `http://${host}/`), ...forbiddenUrls]
  const passed: string[] = []
  for (const url of urls) {
    const outcome = await sender.post(url, { timeoutMs: 1_000 })
    if (!refused.test(brief(outcome))) passed.push(`${JSON.stringify(url)}: ${brief(outcome)}`)
  }
  expect(passed).toEqual([])
  expect(sender.openConnections()).toBe(0)
})

it('no name that a name server resolves to a forbidden address is connected to, alone or beside a public one', async () => {
  const names = new Map(forbidden.map((address, n) => [`n${n}.test`, address]))
  const besides = new Map(forbidden.map((address, n) => [`m${n}.test`, address]))
  // Nothing that could be dialled: an answer with a public address stands beside the forbidden one of its family.
  const dns = await startDnsServer((name) => {
    const alone = names.get(name)
    if (alone) return [mapped(alone)]
    const address = mapped(besides.get(name) ?? '')
    return name.length % 2 === 0 ? [neighbour(address), address] : [address, neighbour(address)]
  })
  const sender = newSender({ allowedTargets: [], nameServers: [dns.address] })
  const hosts = [...names.keys(), ...besides.keys()]
  let next = 0
  const run = async (): Promise<void> => {
    while (next < hosts.length) {
      const host = hosts[next++]!
      const outcome = await sender.post(`http://${host}/`, { timeoutMs: 20_000 })
      expect(`${host} ${brief(outcome)}`).toBe(`${host} target_refused in target`)
      // What the name resolves to is not for the endpoint's owner.
      const address = names.get(host) ?? besides.get(host)
      if (address && address.length > 3) expect(outcome.error?.message).not.toContain(address)
    }
  }
  // Not all at once: the name server of the test has a small buffer, and shares this process.
  await Promise.all(Array.from({ length: 16 }, run))
  expect(sender.openConnections()).toBe(0)
})

/** IPv6 with IPv4 at its end as a DNS record has it: all in hexadecimal, which the packet's encoder takes. */
const mapped = (address: string): string => new URL(`http://${bracketed(address)}/`).hostname.replace(/^\[|\]$/g, '')
const neighbour = (address: string): string => (address.includes(':') ? '2606:4700::1111' : '1.1.1.1')

it('public addresses may be dialled, as literals and as answers', async () => {
  const all = [...publicIPv4, ...publicIPv6]
  const refusals: unknown[] = []
  const guard = createTargetGuard({
    rules: createTargetRules([]),
    lookup: (name, _, callback) => callback(null, [{ address: all[Number(name)] ?? '', family: 4 }]),
    onRefused: (refused) => refusals.push(refused),
  })
  for (const [n, address] of all.entries()) {
    expect(guard.checkLiteral(address, 443)).toBeNull()
    guard.addressesOf(String(n), 443, (error, addresses) => {
      expect([error, addresses[0]?.address]).toEqual([null, address])
    })
  }
  expect(refusals).toEqual([])
})

it('public URLs are taken', async () => {
  const sender = newSender({ allowedTargets: [], lookup: () => undefined })
  const control = new AbortController()
  const urls = publicUrls.map((url) => sender.post(url, { signal: control.signal }))
  control.abort()
  // Aborted while it is resolved: it has passed the guard of URLs, and nothing goes out.
  for (const [n, outcome] of (await Promise.all(urls)).entries()) {
    expect(`${publicUrls[n]} ${brief(outcome)}`).toBe(`${publicUrls[n]} aborted in dns`)
  }
})
