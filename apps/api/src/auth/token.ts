import { hash } from 'node:crypto'
import { newApiToken } from '@posthorn/core'

const prefixLength = 12

/** A new token. Shown once; only its hash and first characters are kept. */
export function generateToken(): { token: string; prefix: string; hash: Buffer } {
  const token = newApiToken()
  return { token, prefix: token.slice(0, prefixLength), hash: hashToken(token) }
}

const tokenForm = /^phk_[A-Za-z0-9_-]{43}$/

/** Whether `generateToken` can have made it. */
export function isTokenForm(text: string): boolean {
  return tokenForm.test(text)
}

/** SHA-256: tokens are random enough to need no slow hash. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
