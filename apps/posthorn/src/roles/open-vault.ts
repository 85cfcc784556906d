import { createVault, type Vault, VaultError } from '@posthorn/core'
import { createClient } from '@posthorn/core/db'
import { readSealedSample } from '@posthorn/core/sql'
import { StartFailure } from '../start-failure.ts'

/**
 * Makes the vault, and tries it on the database: with another key nothing could be signed, which had better be known now.
 * @throws StartFailure when the key is not that of the secrets in the database
 */
export async function openVault(encryptionKey: string, databaseUrl: string): Promise<Vault> {
  const vault = createVault(encryptionKey)
  const client = createClient(databaseUrl, 'posthorn vault')
  // A dropped connection rejects the statement under way; the event must not end the process as well.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const sealed = await readSealedSample(client)
    if (sealed !== null) vault.open(sealed)
    return vault
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    throw new StartFailure(
      "POSTHORN_ENCRYPTION_KEY is not the key with which this database's secrets were sealed: start with that one",
    )
  } finally {
    await client.end()
  }
}
