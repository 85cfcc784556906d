import { type LookupAddress, Resolver as NameServers } from 'node:dns'
import { createHostsFile } from './hosts-file.ts'
import type { Lookup } from './target-guard.ts'

export type Resolver = {
  lookup: Lookup
  /** Gives up what is under way, so that nothing holds the process. */
  stop(): void
}

/** Each name server is asked three times, longer each time: 8 s until one that is dead is given up. */
const patience = { timeout: 1_500, tries: 3, maxTimeout: 4_000 }
/** Once one family has addresses, the other is waited for this long: there are name servers that never answer for AAAA. */
const otherFamilyMs = 500
/** A resolver reads `/etc/resolv.conf` when it is made, so a new one is made now and then. */
const renewAfterMs = 30_000
/** Of each family; all answers are checked, and so many are dialled at most. */
const maxAddresses = 4

const absent = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/**
 * Looks names up by c-ares: `/etc/hosts` first, then A and AAAA at the name servers of `/etc/resolv.conf`. Names are absolute:
 * no search domain is appended, so what a tenant wrote cannot become a name of the operator's network.
 *
 * In place of `dns.lookup`, of which Node runs two at a time: two names whose servers are dead would stop all others.
 *
 * @param servers name servers to ask instead, as `127.0.0.1:5353`
 */
export function createResolver({ servers }: { servers: readonly string[] | undefined }): Resolver {
  const hosts = createHostsFile()
  let current: NameServers | null = null
  let madeAt = 0

  const nameServers = (): NameServers => {
    if (current && performance.now() - madeAt < renewAfterMs) return current
    current = new NameServers(patience)
    if (servers) current.setServers(servers)
    madeAt = performance.now()
    return current
  }

  const lookup: Lookup = (hostname, _, callback) => {
    const name = hostname.replace(/\.$/, '')
    const known = isLocalhost(name) ? loopback : hosts.addressesOf(name)
    if (known.length > 0) {
      queueMicrotask(() => callback(null, known))
      return
    }
    let waiting = 2
    let timer: NodeJS.Timeout | undefined
    const found: Record<4 | 6, LookupAddress[]> = { 4: [], 6: [] }
    let failure: NodeJS.ErrnoException | null = null

    const finish = (): void => {
      waiting = 0
      clearTimeout(timer)
      // IPv4 first: where only one of the two works, it is IPv4.
      const addresses = [...found[4], ...found[6]]
      if (addresses.length > 0) callback(null, addresses)
      else callback(failure ?? Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
    }
    const answered = (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses: string[]) => {
      if (waiting === 0) return
      waiting--
      if (!error) found[family] = addresses.map((address) => ({ address, family }))
      // "Could not be found out" tells more than "is not there", which only both together mean.
      else if (!absent.has(error.code ?? '')) failure = error
      if (waiting === 0) finish()
      else if (found[family].length > 0) timer = setTimeout(finish, otherFamilyMs)
    }
    const ask = nameServers()
    ask.resolve4(name, answered(4))
    ask.resolve6(name, answered(6))
  }

  return { lookup, stop: () => current?.cancel() }
}

const loopback: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Never asked of a name server (RFC 6761). */
const isLocalhost = (name: string): boolean => /(^|\.)localhost$/i.test(name)

/** Of the checked answers those that are dialled, IPv4 and IPv6 in turn as they come. */
export function toDial(addresses: readonly LookupAddress[]): LookupAddress[] {
  const count = { 4: 0, 6: 0 }
  return addresses.filter(({ family }) => ++count[family === 6 ? 6 : 4] <= maxAddresses)
}
