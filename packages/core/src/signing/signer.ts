import { createHmac, createSecretKey, type KeyObject, sign } from 'node:crypto'
import { isSigningKey, parseSigningKey } from './ed25519.ts'
import { parseSecret } from './secret.ts'

export type Signer = {
  /**
   * Signs one attempt (Standard Webhooks 1.0.0: `id.timestamp.body`, with HMAC-SHA256 for v1 and ed25519 for v1a).
   * @param id the `webhook-id`, which must not contain a full stop
   * @param timestampSeconds the attempt's Unix time in whole seconds, as sent in `webhook-timestamp`
   * @param body the very bytes that are sent
   * @returns the `webhook-signature`: one `v1,<base64>` or `v1a,<base64>` a secret, in the secrets' order and those of v1
   *   first, single spaces between
   */
  sign(id: string, timestampSeconds: number, body: Uint8Array): string
}

/**
 * Makes a signer for the secrets of one endpoint. Keep it as long as they stand: it holds prepared key objects.
 * @param secrets `whsec_` for v1, `whsk_` for v1a
 * @throws TypeError for no secret, or one that breaks a rule: those are refused when an endpoint is changed
 */
export function createSigner(secrets: readonly string[]): Signer {
  if (secrets.length === 0) throw new TypeError('a signer needs a secret')
  const keys = secrets.filter((secret) => !isSigningKey(secret)).map(keyOf)
  const signingKeys = secrets.filter(isSigningKey).map(signingKeyOf)
  return {
    sign(id, timestampSeconds, body) {
      if (!Number.isSafeInteger(timestampSeconds)) throw new TypeError('a webhook-timestamp is in whole seconds')
      // With a full stop in the id, two different triples would have the same signed content.
      if (id.includes('.')) throw new TypeError('a webhook-id contains no full stop')
      const head = `${id}.${timestampSeconds}.`
      let signature = ''
      for (const key of keys)
        signature += signature === '' ? signature1(key, head, body) : ` ${signature1(key, head, body)}`
      if (signingKeys.length === 0) return signature
      const content = contentOf(head, body)
      const items = signingKeys.map((key) => `v1a,${sign(null, content, key).toString('base64')}`)
      return (signature === '' ? items : [signature, ...items]).join(' ')
    },
  }
}

/** The key object of a secret. @throws TypeError with the broken rule */
export function keyOf(secret: string): KeyObject {
  const parsed = parseSecret(secret)
  if (parsed.key === null) throw new TypeError(parsed.reason)
  return createSecretKey(parsed.key)
}

function signingKeyOf(secret: string): KeyObject {
  const parsed = parseSigningKey(secret)
  if (parsed.key === null) throw new TypeError(parsed.reason)
  return parsed.key
}

/** One `v1,<base64>` over `head` (`id.timestamp.`) and the body. */
export function signature1(key: KeyObject, head: string, body: Uint8Array): string {
  return `v1,${createHmac('sha256', key).update(head, 'utf8').update(body).digest('base64')}`
}

/** What v1a signs, which is not taken in parts. */
export function contentOf(head: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(head, 'utf8'), body])
}
