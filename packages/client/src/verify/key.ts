import { WebhookError } from './webhook-error.ts'

/** What one secret verifies with: HMAC-SHA256 (v1) or ed25519 (v1a). */
export type Key = { version: 'v1' | 'v1a'; key: Awaited<ReturnType<typeof crypto.subtle.importKey>> }

const hmac = { name: 'HMAC', hash: 'SHA-256' } as const

/**
 * Reads a secret: `whsec_` and base64 (v1), or a public key, `whpk_` and base64 (v1a). A secret without its prefix is v1.
 * @throws WebhookError `bad_secret` with the rule, never with the secret
 */
export async function importKey(secret: string): Promise<Key> {
  if (typeof secret !== 'string' || secret === '') throw bad('it is empty: is the setting that holds it set?')
  if (/^\s|\s$/.test(secret)) throw bad('it has white space around it: trim what you read it from')
  if (secret.startsWith('whsk_')) throw bad('whsk_ is the private key that signs: take the public one, whpk_')
  if (secret.startsWith('whpk_')) {
    const bytes = decode(secret.slice(5))
    if (bytes.length !== 32) throw bad(`a public key has 32 bytes, not ${bytes.length}`)
    try {
      return { version: 'v1a', key: await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']) }
    } catch (error) {
      throw new WebhookError('unsupported_runtime', 'this runtime has no Ed25519: verify with a whsec_ secret', error)
    }
  }
  const bytes = decode(secret.startsWith('whsec_') ? secret.slice(6) : secret)
  if (bytes.length < 24) throw bad(`it has ${bytes.length} bytes and not 24 or more: was it cut off?`)
  return { version: 'v1', key: await crypto.subtle.importKey('raw', bytes, hmac, false, ['verify']) }
}

/** Compares in constant time, as the Web Cryptography API's own verification does. */
export function matches({ version, key }: Key, signature: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>) {
  return crypto.subtle.verify(version === 'v1' ? 'HMAC' : 'Ed25519', key, signature, signed)
}

/** Bytes of standard base64. @returns null for what is none */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64(text)
  if (bytes === null) throw bad('after its prefix it must be standard base64, as Posthorn shows it')
  return bytes
}

function bad(rule: string): WebhookError {
  return new WebhookError('bad_secret', `The endpoint's secret cannot be used: ${rule}.`)
}
