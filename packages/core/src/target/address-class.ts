import ipaddr from 'ipaddr.js'

type Range = readonly [network: ipaddr.IPv4 | ipaddr.IPv6, bits: number, name: string]

const range = (cidr: string, name: string): Range => [...ipaddr.parseCIDR(cidr), name]

/** IPv4 that no webhook may reach by default: IANA's special-purpose registry, multicast and reserved. */
const ipv4Ranges: readonly Range[] = [
  range('0.0.0.0/8', 'this-network'),
  range('10.0.0.0/8', 'private'),
  range('100.64.0.0/10', 'carrier-grade NAT'),
  range('127.0.0.0/8', 'loopback'),
  range('169.254.0.0/16', 'link-local'),
  range('172.16.0.0/12', 'private'),
  range('192.0.0.0/24', 'protocol assignment'),
  range('192.0.2.0/24', 'documentation'),
  range('192.31.196.0/24', 'protocol assignment'),
  range('192.52.193.0/24', 'protocol assignment'),
  range('192.88.99.0/24', '6to4 relay'),
  range('192.168.0.0/16', 'private'),
  range('192.175.48.0/24', 'protocol assignment'),
  range('198.18.0.0/15', 'benchmarking'),
  range('198.51.100.0/24', 'documentation'),
  range('203.0.113.0/24', 'documentation'),
  range('224.0.0.0/4', 'multicast'),
  range('240.0.0.0/4', 'reserved'),
]

/** IPv6 is the other way round: only 2000::/3 is public, less what is named here. The rest is named for the message. */
const ipv6Ranges: readonly Range[] = [
  range('::/128', 'unspecified'),
  range('::1/128', 'loopback'),
  range('::/96', 'IPv4-compatible'),
  range('::ffff:0:0:0/96', 'IPv4-translated'),
  range('64:ff9b:1::/48', 'local NAT64'),
  range('100::/64', 'discard-only'),
  range('100:0:0:1::/64', 'dummy'),
  // Teredo (2001::/32), ORCHID and other protocol assignments.
  range('2001::/23', 'protocol assignment'),
  range('2001:db8::/32', 'documentation'),
  range('2002::/16', '6to4'),
  range('2620:4f:8000::/48', 'protocol assignment'),
  range('3fff::/20', 'documentation'),
  range('5f00::/16', 'segment routing'),
  range('fc00::/7', 'private'),
  range('fe80::/10', 'link-local'),
  range('fec0::/10', 'site-local'),
  range('ff00::/8', 'multicast'),
]
const ipv6Public = range('2000::/3', 'public')
const nat64 = range('64:ff9b::/96', 'NAT64')

/** Of a class of their own, as a network that the operator opens does not open them. */
export const cloudMetadata = 'cloud metadata'

/**
 * Where clouds hand out credentials to whoever asks from within: AWS (EC2, ECS, EKS), Google, Azure (and its platform
 * services, which lie in public space), Alibaba, Oracle, Tencent, Scaleway.
 */
const metadataAddresses: ReadonlySet<string> = new Set(
  [
    ...['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
    ...['168.63.129.16', '100.100.100.200', '192.0.0.192', '169.254.0.23', '169.254.42.42', 'fd00:42::42'],
  ].map((text) => ipaddr.parse(text).toString()),
)

/** `<prefix>:0:5efe:<IPv4>`: a tunnel to that IPv4 address (RFC 5214), under any prefix. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [high, low] = [address.parts[4] ?? 0, address.parts[5] ?? 0]
  return low === 0x5efe && (high & ~0x0200) === 0
}

const inRange = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Range): boolean =>
  address.kind() === network.kind() && address.match(network, bits)

/**
 * Parses an address in the canonical spelling of a URL's hostname (without brackets) or of a DNS answer; null for all else.
 * An IPv4-mapped IPv6 address (`::ffff:127.0.0.1`) becomes the IPv4 address that the kernel would really connect to.
 */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  // A zone (`%eth0`) names an interface of this machine, which is nobody's public address.
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return null
  const address = ipaddr.IPv6.parse(text)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** What kind of address it is: `public`, or the name of the special range that holds it. */
export function addressClass(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (metadataAddresses.has(address.toString())) return cloudMetadata
  if (!(address instanceof ipaddr.IPv6)) return ipv4Ranges.find((range) => inRange(address, range))?.[2] ?? 'public'
  if (inRange(address, nat64)) {
    // Behind DNS64 each IPv4 host has such an address, so what it embeds decides.
    return addressClass(new ipaddr.IPv4(address.toByteArray().slice(12)))
  }
  const special = ipv6Ranges.find((range) => inRange(address, range))
  if (special) return special[2]
  if (isIsatap(address)) return 'ISATAP'
  return inRange(address, ipv6Public) ? 'public' : 'reserved'
}
