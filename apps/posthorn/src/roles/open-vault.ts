import { type Config, createVault, keyIdOf, type Vault } from '@posthorn/core'
import { createClient } from '@posthorn/core/db'
import { findForeignHead } from '@posthorn/core/sql'
import { StartFailure } from '../start-failure.ts'

type Keys = Pick<Config, 'encryptionKey' | 'encryptionKeyPrevious'>

/**
 * Makes the vault, and sees whether all in the database was sealed with its keys: with others nothing could be signed, which
 * had better be known now.
 * @throws StartFailure when something was sealed with another key
 */
export async function openVault({ encryptionKey, encryptionKeyPrevious }: Keys, databaseUrl: string): Promise<Vault> {
  const vault = createVault(encryptionKey!, encryptionKeyPrevious)
  const client = createClient(databaseUrl, 'posthorn vault')
  // A dropped connection rejects the statement under way; the event must not end the process as well.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const head = await findForeignHead(client, vault.heads)
    if (head === null) return vault
    throw new StartFailure(
      `POSTHORN_ENCRYPTION_KEY is not the key with which this database's secrets were sealed (key id ${keyIdOf(head)}, not ${keyIdOf(vault.head)}): ` +
        'start with that one, or, to change keys, give it as POSTHORN_ENCRYPTION_KEY_PREVIOUS',
    )
  } finally {
    await client.end()
  }
}
