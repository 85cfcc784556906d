import { randomBytes } from 'node:crypto'
import { decodeBase64 } from '../domain/base64.ts'

const prefix = 'whsec_'
const minBytes = 24
const maxBytes = 64
const maxLength = prefix.length + Math.ceil(maxBytes / 3) * 4

/** A secret's key, or the rule that it breaks (a sentence that never repeats the secret). */
export type ParsedSecret = { key: Buffer; reason: null } | { key: null; reason: string }

/**
 * Makes an endpoint's secret: `whsec_` and the base64 of 24 random bytes (Standard Webhooks 1.0.0 asks for 24 to 64).
 * 24 bytes need no padding, on which the receivers' libraries disagree.
 */
export function generateSecret(): string {
  return prefix + randomBytes(minBytes).toString('base64')
}

/**
 * Reads a Standard Webhooks v1 secret: `whsec_` and the standard base64 of 24 to 64 bytes. All else is refused, white
 * space at the ends included: a secret that is put right silently is another one than the receiver holds.
 */
export function parseSecret(text: string): ParsedSecret {
  if (!text.startsWith(prefix)) return refuse('a secret begins with "whsec_"')
  if (text.length > maxLength) return refuse(`a secret has at most ${maxBytes} bytes, ${maxLength} characters in all`)
  const written = text.slice(prefix.length)
  if (/\s/.test(written)) return refuse('a secret contains no white space')
  if (/[-_]/.test(written)) return refuse('a secret is written in standard base64 (+ and /), not in URL-safe (- and _)')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(written)) return refuse('after "whsec_" a secret is standard base64')
  if (written.length % 4 !== 0) return refuse('the base64 of a secret is padded with "=" to a multiple of 4 characters')
  const key = decodeBase64(written)
  if (key === null) return refuse('the base64 of a secret is padded rightly and has no unused bits set')
  if (key.length < minBytes || key.length > maxBytes) {
    return refuse(`a secret has ${minBytes} to ${maxBytes} bytes, not ${key.length}`)
  }
  return { key, reason: null }
}

function refuse(reason: string): ParsedSecret {
  return { key: null, reason }
}
