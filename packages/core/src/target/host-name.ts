/** By RFC 6761, and by the clouds' manuals. With its addresses, so that an operator who opened one of them may use the name. */
const knownNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['localhost', ['127.0.0.1', '::1']],
  ['instance-data', ['169.254.169.254']],
  ['instance-data.ec2.internal', ['169.254.169.254']],
  ['metadata', ['169.254.169.254']],
  ['metadata.goog', ['169.254.169.254']],
  ['metadata.google.internal', ['169.254.169.254']],
  ['metadata.tencentyun.com', ['169.254.0.23']],
])

/** The addresses of a name that are known without a lookup; none for all others. */
export function knownAddressesOf(hostname: string): readonly string[] {
  const name = hostname.replace(/\.$/, '')
  return knownNames.get(name.endsWith('.localhost') ? 'localhost' : name) ?? []
}

/**
 * What keeps a name (lower-case, in ASCII, as a URL parser leaves it) from ever being found in DNS; null for nothing.
 * An underscore is let through: names with one exist, though they should not.
 */
export function hostNameFault(hostname: string): string | null {
  const name = hostname.replace(/\.$/, '')
  if (name.length > 253) return 'the host name is longer than 253 characters'
  for (const label of name.split('.')) {
    if (label === '') return 'the host name has an empty part'
    if (label.length > 63) return 'a part of the host name is longer than 63 characters'
    if (!/^[a-z0-9_-]+$/.test(label)) return 'the host name holds a character that no host name has'
  }
  return null
}
