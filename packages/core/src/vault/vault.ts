import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'
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
  /** Seals a secret for the database. */
  seal(plain: string): Buffer
  /** Opens what was sealed with this key. @throws VaultError for another key, or bytes that were changed */
  open(sealed: Uint8Array): string
}

/**
 * Makes a vault for endpoints' secrets.
 * @param keyBase64 32 bytes in base64 (`POSTHORN_ENCRYPTION_KEY`)
 * @throws VaultError when it is not
 */
export function createVault(keyBase64: string): Vault {
  const bytes = decodeBase64(keyBase64)
  if (bytes?.length !== 32) throw new VaultError('the encryption key must be 32 bytes in base64')
  const key = createSecretKey(bytes)
  const head = Buffer.concat([Buffer.of(version), createHash('sha256').update(bytes).digest().subarray(0, 4)])

  return {
    seal(plain) {
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength }).setAAD(head)
      const text = [cipher.update(plain, 'utf8'), cipher.final()]
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ...text])
    },
    open(sealed) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
      if (bytes.length < textAt || bytes[0] !== version) {
        throw new VaultError('a sealed secret of an unknown form: it was changed, or a newer Posthorn wrote it')
      }
      if (!bytes.subarray(0, headLength).equals(head)) {
        throw new VaultError('a secret was sealed with another encryption key: start with the key that sealed it')
      }
      const nonce = bytes.subarray(headLength, headLength + nonceLength)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
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
