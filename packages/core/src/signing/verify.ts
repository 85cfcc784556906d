import { type KeyObject, timingSafeEqual, verify as verifyEd25519 } from 'node:crypto'
import { decodeBase64 } from '../domain/base64.ts'
import { parsePublicKey } from './ed25519.ts'
import { contentOf, keyOf, signature1 } from './signer.ts'

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** How far the timestamp may lie from now, either way, in whole seconds. Default 300. */
  toleranceSeconds?: number
  /** Default: the current time. */
  now?: Date
}

/** What was verified, or why it was not. */
export type Verification =
  | { verified: true; id: string; timestampSeconds: number }
  | { verified: false; reason: 'missing_header' | 'bad_timestamp' | 'too_old' | 'too_new' | 'no_match' }

/**
 * Verifies a webhook as Standard Webhooks 1.0.0 says, v1 and v1a.
 *
 * @param secrets those that the receiver accepts: secrets of v1, with or without `whsec_`, and `whpk_` keys of v1a
 * @param headers as received; names in any case
 * @param rawBody the bytes as received, before any parsing
 * @throws TypeError for a secret that is none
 */
export function verify(
  secrets: readonly string[],
  headers: WebhookHeaders,
  rawBody: Uint8Array,
  options: VerifyOptions = {},
): Verification {
  const { toleranceSeconds = 300, now = new Date() } = options
  const publicKeys = secrets.filter(isPublic).map(publicKeyOf)
  const keys = secrets
    .filter((secret) => !isPublic(secret))
    .map((secret) => keyOf(secret.startsWith('whsec_') ? secret : `whsec_${secret}`))
  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature')
  if (!id || !timestamp || !signatures) return { verified: false, reason: 'missing_header' }
  if (!/^[0-9]{1,12}$/.test(timestamp)) return { verified: false, reason: 'bad_timestamp' }
  const timestampSeconds = Number(timestamp)
  const ageSeconds = Math.floor(now.getTime() / 1000) - timestampSeconds
  if (ageSeconds > toleranceSeconds) return { verified: false, reason: 'too_old' }
  if (ageSeconds < -toleranceSeconds) return { verified: false, reason: 'too_new' }

  const head = `${id}.${timestamp}.`
  const expected = keys.map((key) => Buffer.from(signature1(key, head, rawBody), 'latin1'))
  let matches = false
  for (const item of signatures.split(' ')) {
    // Length and version are public; only the bytes of a signature are compared, and those in constant time.
    const given = Buffer.from(item, 'utf8')
    for (const wanted of expected) {
      if (given.length === wanted.length && timingSafeEqual(given, wanted)) matches = true
    }
    if (publicKeys.length === 0 || !item.startsWith('v1a,')) continue
    const bytes = decodeBase64(item.slice(4))
    const content = contentOf(head, rawBody)
    for (const key of publicKeys) if (bytes?.length === 64 && verifyEd25519(null, content, key, bytes)) matches = true
  }
  return matches ? { verified: true, id, timestampSeconds } : { verified: false, reason: 'no_match' }
}

function isPublic(secret: string): boolean {
  return secret.startsWith('whpk_')
}

function publicKeyOf(text: string): KeyObject {
  const key = parsePublicKey(text)
  if (key === null) throw new TypeError('a public key is "whpk_" and the base64 of 32 bytes')
  return key
}

/** A header's value; undefined when it is missing or was sent twice, for then it is not clear what was signed. */
function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  let found: string | undefined
  for (const [key, value] of Object.entries(headers)) {
    if (value === undefined || key.toLowerCase() !== name) continue
    if (found !== undefined || typeof value !== 'string') return undefined
    found = value
  }
  return found
}
