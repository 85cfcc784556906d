import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { apiTokenForm, type Config, createVault, isApiToken, newApiToken } from '@posthorn/core'
import { StartFailure } from '../start-failure.ts'
import { keep, readKept } from './kept-value.ts'

/**
 * The encryption key: POSTHORN_ENCRYPTION_KEY, else the one in `<data>/encryption-key`, made at the first start. A data
 * folder whose key is lost is refused: with a new one, every secret in its database would be closed for good.
 * Called before the data folder's Postgres is made.
 */
export async function readEncryptionKey({ encryptionKey, dataDir }: Config): Promise<string> {
  if (encryptionKey !== null) return encryptionKey
  const path = join(dataDir, 'encryption-key')
  const kept = await readKept(path)
  if (kept === null && existsSync(join(dataDir, 'postgres'))) {
    throw new StartFailure(
      `POSTHORN_ENCRYPTION_KEY is required: ${path}, which had the key of this data folder's secrets, is not there`,
    )
  }
  const key = kept ?? (await keep(path, randomBytes(32).toString('base64'))).value
  try {
    createVault(key)
  } catch {
    throw new StartFailure(`${path} must hold 32 bytes in base64: restore it, or set POSTHORN_ENCRYPTION_KEY`)
  }
  return key
}

export type OperatorToken = {
  token: string
  /** The file that holds it; null when it comes from POSTHORN_API_KEY. */
  path: string | null
  /** Keeps a token that is new. @returns true when it is: whoever starts it is shown it, once */
  keep(): Promise<boolean>
}

/** The operator's token: POSTHORN_API_KEY, else the one in `<data>/api-key`, else a new one. */
export async function readOperatorToken({ apiKey, dataDir }: Config): Promise<OperatorToken> {
  if (apiKey !== null) return { token: apiKey, path: null, keep: async () => false }
  const path = join(dataDir, 'api-key')
  const kept = await readKept(path)
  if (kept !== null) {
    if (isApiToken(kept)) return { token: kept, path, keep: async () => false }
    throw new StartFailure(`${path} must hold ${apiTokenForm}: remove it for a new one, or set POSTHORN_API_KEY`)
  }
  const token = newApiToken()
  return { token, path, keep: async () => (await keep(path, token)).made }
}
