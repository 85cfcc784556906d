import ipaddr from 'ipaddr.js'
import type { AllowedTarget } from '../config/allowed-target.ts'
import { addressClass, cloudMetadata, parseAddress } from './address-class.ts'
import { hostNameFault, knownAddressesOf } from './host-name.ts'

export type UrlCheck =
  | {
      ok: true
      url: URL
      /** Without the brackets of IPv6. */
      hostname: string
      port: number
      /** The host is an address, not a name: it has been checked already, and no DNS lookup will follow. */
      literal: boolean
    }
  | { ok: false; code: 'url_invalid' | 'target_refused'; message: string }

export type TargetRules = {
  /** Checks a URL's spelling and, where its host is an address, that address. Makes no lookup: names pass. */
  checkUrl(url: string): UrlCheck
  /** Why an address may not be connected to (the name of its range, as `private`), or null when it may. */
  refusal(address: string, port: number): string | null
  /** Whether the operator opened this very address and port, as the place of a neighbour. */
  isOpenedAlone(address: string, port: number): boolean
}

const refused = (message: string): UrlCheck => ({ ok: false, code: 'target_refused', message })
const invalid = (message: string): UrlCheck => ({ ok: false, code: 'url_invalid', message })

/**
 * The rules on where webhooks may go: http and https, no credentials, and of addresses only public unicast ones and those
 * that the operator opened. No I/O; whoever connects must ask `refusal` for the address really dialled, as a name can
 * resolve to anything.
 * @throws TypeError for an allowed target that cannot be parsed
 */
export function createTargetRules(allowed: readonly AllowedTarget[]): TargetRules {
  const networks: [ipaddr.IPv4 | ipaddr.IPv6, number][] = []
  const addresses = new Set<string>()
  for (const target of allowed) {
    if ('cidr' in target) networks.push(parseNetwork(target.cidr))
    else addresses.add(exactKey(target.address, target.port))
  }

  const refusal = (text: string, port: number): string | null => {
    const address = parseAddress(text)
    if (!address) return 'unknown'
    const name = addressClass(address)
    if (name === 'public') return null
    if (addresses.has(`${address} ${port}`)) return null
    const opened = networks.some(
      ([network, bits]) =>
        network.kind() === address.kind() &&
        address.match(network, bits) &&
        // Whoever opens 169.254.0.0/16 or fd00::/8 hardly means the machine's credentials.
        (name !== cloudMetadata || bits === address.toByteArray().length * 8),
    )
    return opened ? null : name
  }

  const isOpenedAlone = (text: string, port: number): boolean => {
    if (addresses.size === 0) return false
    const address = parseAddress(text)
    return address !== null && addresses.has(`${address} ${port}`)
  }

  const checkUrl = (text: string): UrlCheck => {
    const fault = spellingFault(text)
    if (fault !== null) return invalid(fault)
    const url = URL.parse(text)
    if (!url) return invalid('not a valid absolute URL')
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('only http and https URLs are allowed')
    const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
    if (authority === undefined) return invalid('not a valid absolute URL')
    // An empty one, which the parser drops, as well: what is stored must be what is requested.
    if (authority.includes('@')) return refused('the URL must not hold a user name or password')
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    if (port === 0) return refused('port 0 is not allowed')

    const hostname = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
    const literal = parseAddress(hostname) !== null
    if (!literal) {
      const fault = hostNameFault(hostname)
      if (fault !== null) return invalid(fault)
    }
    const reason = literal ? refusal(hostname, port) : refusedName(hostname, port)
    if (reason !== null) return refused(`${url.hostname} is not a public address (${reason})`)
    return { ok: true, url, hostname, port, literal }
  }

  /** Names whose answer is known beforehand. The answers of a lookup still decide in the end. */
  const refusedName = (hostname: string, port: number): string | null => {
    const reasons = knownAddressesOf(hostname).map((address) => refusal(address, port))
    return reasons.includes(null) ? null : (reasons[0] ?? null)
  }

  return { checkUrl, refusal, isOpenedAlone }
}

/** `createTargetRules(allowed).checkUrl(url)`, for a caller that checks one URL. */
export function checkUrl(url: string, allowed: readonly AllowedTarget[]): UrlCheck {
  return createTargetRules(allowed).checkUrl(url)
}

/** What a URL parser would silently drop, trim or turn into something else: what is stored must be what is requested. */
function spellingFault(text: string): string | null {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code <= 0x20 || code === 0x7f) return 'the URL holds white space or a control character'
    if (code === 0x5c) return 'the URL holds a backslash: write / or %5C'
    if (code === 0x23) return 'the URL holds a fragment (#...), which is never sent'
  }
  return text.isWellFormed() ? null : 'the URL holds half of a surrogate pair'
}

function parseNetwork(cidr: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  try {
    return ipaddr.parseCIDR(cidr)
  } catch {
    throw new TypeError(`not a CIDR: ${cidr}`)
  }
}

function exactKey(text: string, port: number): string {
  const address = parseAddress(text)
  if (!address) throw new TypeError(`not an IP address: ${text}`)
  return `${address} ${port}`
}
