import { randomBytes } from 'node:crypto'

const apiTokenPattern = /^[\x21-\x7e]{16,255}$/

/** What `isApiToken` asks for, after "must be". */
export const apiTokenForm = '16 to 255 printable ASCII characters without spaces'

/** Whether the text may be a token of the API, made here or by an operator. */
export function isApiToken(text: string): boolean {
  return apiTokenPattern.test(text)
}

/** A new token: `phk_` and 32 random bytes in base64url. */
export function newApiToken(): string {
  return `phk_${randomBytes(32).toString('base64url')}`
}
