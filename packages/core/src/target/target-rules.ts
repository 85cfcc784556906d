import ipaddr from 'ipaddr.js'
import type { AllowedTarget } from '../config/allowed-target.ts'
import { addressClass, parseAddress } from './address-class.ts'

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
    if (networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits)))
      return null
    return addresses.has(`${address} ${port}`) ? null : name
  }

  const checkUrl = (text: string): UrlCheck => {
    // The URL parser would drop or trim these silently; what is stored must be what is requested.
    if (hasControlOrSpace(text)) return invalid('the URL holds white space or a control character')
    const url = URL.parse(text)
    if (!url) return invalid('not a valid absolute URL')
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('only http and https URLs are allowed')
    if (url.username !== '' || url.password !== '') return refused('the URL must not hold a user name or password')
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    if (port === 0) return refused('port 0 is not allowed')

    const hostname = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
    const literal = parseAddress(hostname) !== null
    const reason = literal ? refusal(hostname, port) : refusedName(hostname, port)
    if (reason !== null) return refused(`${url.hostname} is not a public address (${reason})`)
    return { ok: true, url, hostname, port, literal }
  }

  /** The one name whose answer is known beforehand (RFC 6761). The answers of a lookup still decide in the end. */
  const refusedName = (hostname: string, port: number): string | null => {
    if (!/(^|\.)localhost\.?$/.test(hostname)) return null
    return refusal('127.0.0.1', port) === null || refusal('::1', port) === null ? null : 'loopback'
  }

  return { checkUrl, refusal }
}

/** `createTargetRules(allowed).checkUrl(url)`, for a caller that checks one URL. */
export function checkUrl(url: string, allowed: readonly AllowedTarget[]): UrlCheck {
  return createTargetRules(allowed).checkUrl(url)
}

function hasControlOrSpace(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code <= 0x20 || code === 0x7f) return true
  }
  return false
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
