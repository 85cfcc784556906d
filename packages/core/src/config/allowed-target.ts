import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A private network, or one port of one private address, that attempts may reach. Addresses in canonical form. */
export type AllowedTarget = { cidr: string } | { address: string; port: number }

/**
 * Reads one entry of `POSTHORN_ALLOWED_TARGETS`: `10.0.0.0/8`, `fd00::/8`, `127.0.0.1:8081` or `[::1]:8081`. Only the
 * plain spellings of addresses are read: what different readers take for different addresses has no place in a guard.
 * @returns a sentence that says what is wrong, for any other text
 */
export function parseAllowedTarget(text: string): AllowedTarget | string {
  const slash = text.indexOf('/')
  if (slash !== -1) return parseCidr(text.slice(0, slash), text.slice(slash + 1))
  if (plainAddress(text) !== null) {
    const one = text.includes(':') ? `${text}/128, or [${text}]:PORT` : `${text}/32, or ${text}:PORT`
    return `for one address write ${one}`
  }
  const match = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text)
  const address = plainAddress(match?.[1] ?? match?.[2] ?? '')
  const port = Number(match?.[3])
  // Brackets belong to IPv6 alone.
  const bracketed = match?.[1] !== undefined
  if (address === null || bracketed !== (address.kind() === 'ipv6')) return 'it is neither a CIDR nor address:port'
  if (port < 1 || port > 65_535) return 'its port is not from 1 to 65535'
  return { address: address.toString(), port }
}

function parseCidr(addressText: string, prefixText: string): AllowedTarget | string {
  const address = plainAddress(addressText)
  if (address === null) return 'it is neither a CIDR nor address:port'
  const bits = address.kind() === 'ipv4' ? 32 : 128
  const prefix = /^[0-9]{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN
  if (!(prefix <= bits)) return `its prefix is not from 0 to ${bits}`
  const written = `${address.toString()}/${prefix}`
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const network = family.networkAddressFromCIDR(written).toString()
  // A slip in the prefix opens more than was meant: say so rather than guess.
  if (network !== address.toString()) return `it has bits set behind its prefix: the network is ${network}/${prefix}`
  return { cidr: written }
}

function plainAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (isIPv4(text)) return ipaddr.IPv4.parse(text)
  if (!isIPv6(text) || text.includes('%')) return null
  const address = ipaddr.IPv6.parse(text)
  // The guard compares such an address as IPv4, so that an entry of this form would never match.
  return address.isIPv4MappedAddress() ? null : address
}
