import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export type Certificate = { key: string; cert: string }

const length = (size: number): number[] => {
  if (size < 128) return [size]
  return size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
}
const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...length(body.length)]), body])
}
const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts)
const bytes = (...values: number[]): Buffer => Buffer.from(values)
const oid = (...encoded: number[]): Buffer => der(0x06, bytes(...encoded))
const time = (date: Date): Buffer =>
  der(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))
const generalName = (name: string): Buffer =>
  isIPv4(name) ? der(0x87, bytes(...name.split('.').map(Number))) : der(0x82, Buffer.from(name))

type CertificateOptions = {
  /** Its last day was yesterday. */
  expired?: boolean
  /** Its first day is tomorrow. */
  future?: boolean
  /** Who signs it. Default: itself. */
  issuer?: Issued
}

/** A certificate that can issue others. */
export type Issued = Certificate & { subject: Buffer; privateKey: KeyObject }

/** A self-signed certificate for names and IPv4 addresses. */
export function selfSigned(names: string[], options: Omit<CertificateOptions, 'issuer'> = {}): Certificate {
  const { key, cert } = issue(names, options)
  return { key, cert }
}

/** A certificate for names and IPv4 addresses, in DER by hand: Node makes none, and openssl may be missing. */
export function issue(names: string[], { expired = false, future = false, issuer }: CertificateOptions = {}): Issued {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const day = 86_400_000
  const from = new Date(Date.now() + (future ? day : -10 * day))
  const until = new Date(Date.now() + (expired ? -day : 2 * day))
  const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  // A subject of its own: certificates in a trust store are found by it.
  const commonName = `posthorn test ${process.pid} ${process.hrtime.bigint()}`
  const subject = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)))))
  const isAuthority = sequence(oid(0x55, 0x1d, 0x13), der(0x04, sequence(der(0x01, bytes(0xff)))))
  const altNames = sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(...names.map(generalName))))
  const content = sequence(
    der(0xa0, der(0x02, bytes(2))),
    der(0x02, bytes(1)),
    ecdsaWithSha256,
    issuer?.subject ?? subject,
    sequence(time(from), time(until)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(isAuthority, altNames)),
  )
  const signature = der(0x03, bytes(0), sign('sha256', content, issuer?.privateKey ?? privateKey))
  // No empty line behind a last line that is full: no reader of PEM takes that.
  const lines = sequence(content, ecdsaWithSha256, signature)
    .toString('base64')
    .match(/.{1,64}/g)!
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    subject,
    privateKey,
  }
}
