import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { decodeBase64 } from '../domain/base64.ts'

/**
 * A sealed secret, as it lies in the database (AES-256-GCM, NIST SP 800-38D):
 *
 *     version (1 byte, = 1) | key id (4: first of the key's SHA-256) | nonce (12) | tag (16) | the secret, enciphered
 *
 * Version and key id are authenticated with it. Nonces are random: one key may seal 2^32 secrets, which endpoints do not
 * reach.
 */
const version = 1
const headLength = 5
const nonceLength = 12
const tagLength = 16
const textAt = headLength + nonceLength + tagLength

/** A sealed secret that cannot be opened, or a key that is none. The message holds no secret. */
export class VaultError extends Error {
  override name = 'VaultError'
}

export type Vault = {
  /** How all that this vault seals begins: version and key id. */
  head: Buffer
  /** How what it can open begins: `head`, and that of the previous key if there is one. */
  heads: readonly Buffer[]
  /** Seals a secret for the database, with the current key. */
  seal(plain: string): Buffer
  /** Opens what was sealed with one of its keys. @throws VaultError for another key, or bytes that were changed */
  open(sealed: Uint8Array): string
}

/**
 * Makes a vault for endpoints' secrets. While keys are rotated it has two: it seals with the current one, and opens what
 * either has sealed.
 * @param current 32 bytes in base64 (`POSTHORN_ENCRYPTION_KEY`)
 * @param previous likewise (`POSTHORN_ENCRYPTION_KEY_PREVIOUS`); null for none
 * @throws VaultError when one is not
 */
export function createVault(current: string, previous: string | null = null): Vault {
  const key = readKey(current)
  const keys = previous === null || previous === current ? [key] : [key, readKey(previous)]

  return {
    head: key.head,
    heads: keys.map(({ head }) => head),
    seal(plain) {
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv('aes-256-gcm', key.secret, nonce, { authTagLength: tagLength }).setAAD(key.head)
      const text = [cipher.update(plain, 'utf8'), cipher.final()]
      return Buffer.concat([key.head, nonce, cipher.getAuthTag(), ...text])
    },
    open(sealed) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
      if (bytes.length < textAt || bytes[0] !== version) {
        throw new VaultError('a sealed secret of an unknown form: it was changed, or a newer Posthorn wrote it')
      }
      const head = bytes.subarray(0, headLength)
      const own = keys.find((each) => each.head.equals(head))
      if (own === undefined) {
        throw new VaultError(
          `a secret was sealed with another encryption key (${keyIdOf(head)}; this process has ${keys.map((each) => keyIdOf(each.head)).join(' and ')}): start with the key that sealed it`,
        )
      }
      const nonce = bytes.subarray(headLength, headLength + nonceLength)
      const decipher = createDecipheriv('aes-256-gcm', own.secret, nonce, { authTagLength: tagLength })
        .setAAD(head)
        .setAuthTag(bytes.subarray(headLength + nonceLength, textAt))
      try {
        return decipher.update(bytes.subarray(textAt), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw new VaultError('a sealed secret was changed after it was sealed')
      }
    },
  }
}

/** The id of the key that sealed something with this head, in hex: 32 bits of a hash, of no use to who seeks the key. */
export function keyIdOf(head: Uint8Array): string {
  return Buffer.from(head).toString('hex', 1, headLength)
}

function readKey(base64: string): { secret: KeyObject; head: Buffer } {
  const bytes = decodeBase64(base64)
  if (bytes?.length !== 32) throw new VaultError('the encryption key must be 32 bytes in base64')
  const id = createHash('sha256').update(bytes).digest().subarray(0, 4)
  return { secret: createSecretKey(bytes), head: Buffer.concat([Buffer.of(version), id]) }
}
