import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { decodeBase64 } from '../domain/base64.ts'

/*
 * Keys of v1a (Standard Webhooks 1.0.0). The standard names the prefixes and leaves the bytes open; these are the ones that
 * are in use: `whsk_` and the base64 of seed and public key (32 bytes each), `whpk_` and the base64 of the public key.
 */
const secretPrefix = 'whsk_'
const publicPrefix = 'whpk_'
const partLength = 32
const secretLength = secretPrefix.length + 88

/** A key pair, or the rule that the text breaks (a sentence that never repeats it). */
export type ParsedSigningKey =
  | { key: KeyObject; publicKey: string; reason: null }
  | { key: null; publicKey: null; reason: string }

/** Makes a key pair for v1a. */
export function generateSigningKey(): { secret: string; publicKey: string } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [seed, publicPart] = [Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')]
  const secret = secretPrefix + Buffer.concat([seed, publicPart]).toString('base64')
  return { secret, publicKey: publicPrefix + publicPart.toString('base64') }
}

/** Whether the text means to be a secret of v1a. */
export function isSigningKey(text: string): boolean {
  return text.startsWith(secretPrefix)
}

/** Reads a `whsk_` secret. Its public half must be that of its seed: with another, no signature would ever verify. */
export function parseSigningKey(text: string): ParsedSigningKey {
  if (!isSigningKey(text)) return refuse('a v1a secret begins with "whsk_"')
  if (text.length !== secretLength) return refuse('a v1a secret has 64 bytes, 93 characters in all')
  const bytes = decodeBase64(text.slice(secretPrefix.length))
  if (bytes?.length !== 2 * partLength)
    return refuse('after "whsk_" a secret is the standard base64 of 64 bytes, padded')
  const [d, x] = [bytes.subarray(0, partLength), bytes.subarray(partLength)].map((part) => part.toString('base64url'))
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: d!, x: x! }, format: 'jwk' })
  if (createPublicKey(key).export({ format: 'jwk' }).x !== x) {
    return refuse('the last 32 bytes of a v1a secret are the public key of the first 32')
  }
  return { key, publicKey: publicPrefix + bytes.toString('base64', partLength), reason: null }
}

/** Reads a `whpk_` public key. @returns null for what is none */
export function parsePublicKey(text: string): KeyObject | null {
  const bytes = text.startsWith(publicPrefix) ? decodeBase64(text.slice(publicPrefix.length)) : null
  if (bytes?.length !== partLength) return null
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' })
}

function refuse(reason: string): ParsedSigningKey {
  return { key: null, publicKey: null, reason }
}
