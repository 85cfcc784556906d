import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { parseSecret } from './secret.ts'

export type Signer = {
  /**
   * Signs one attempt (Standard Webhooks 1.0.0, v1: HMAC-SHA256 over `id.timestamp.body`).
   * @param id the `webhook-id`, which must not contain a full stop
   * @param timestampSeconds the attempt's Unix time in whole seconds, as sent in `webhook-timestamp`
   * @param body the very bytes that are sent
   * @returns the `webhook-signature`: one `v1,<base64>` a secret, in the secrets' order, single spaces between
   */
  sign(id: string, timestampSeconds: number, body: Uint8Array): string
}

/**
 * Makes a signer for the secrets of one endpoint. Keep it as long as they stand: it holds prepared key objects.
 * @throws TypeError for no secret, or one that `parseSecret` refuses: those are refused when an endpoint is changed
 */
export function createSigner(secrets: readonly string[]): Signer {
  if (secrets.length === 0) throw new TypeError('a signer needs a secret')
  const keys = secrets.map(keyOf)
  return {
    sign(id, timestampSeconds, body) {
      if (!Number.isSafeInteger(timestampSeconds)) throw new TypeError('a webhook-timestamp is in whole seconds')
      // With a full stop in the id, two different triples would have the same signed content.
      if (id.includes('.')) throw new TypeError('a webhook-id contains no full stop')
      const head = `${id}.${timestampSeconds}.`
      let signature = signature1(keys[0]!, head, body)
      for (let i = 1; i < keys.length; i++) signature += ` ${signature1(keys[i]!, head, body)}`
      return signature
    },
  }
}

/** The key object of a secret. @throws TypeError with the broken rule */
export function keyOf(secret: string): KeyObject {
  const parsed = parseSecret(secret)
  if (parsed.key === null) throw new TypeError(parsed.reason)
  return createSecretKey(parsed.key)
}

/** One `v1,<base64>` over `head` (`id.timestamp.`) and the body. */
export function signature1(key: KeyObject, head: string, body: Uint8Array): string {
  return `v1,${createHmac('sha256', key).update(head, 'utf8').update(body).digest('base64')}`
}
