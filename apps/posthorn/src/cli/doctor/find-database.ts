import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '@posthorn/core'
import { clusterUrl } from '../../embedded/cluster-url.ts'

/** The database to look at, and how people are told of it: host, port and name alone. */
export type Database = { url: string; shown: string; embedded: boolean }

/** POSTHORN_DATABASE_URL, else the Postgres in the data folder; null where there is neither. */
export async function findDatabase({ databaseUrl, dataDir }: Config): Promise<Database | null> {
  if (databaseUrl !== null) return { url: databaseUrl, shown: shown(databaseUrl), embedded: false }
  const url = await clusterUrl(dataDir)
  return url === null ? null : { url, shown: `${shown(url)}, in ${dataDir}`, embedded: true }
}

function shown(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? (host || 'localhost')}${pathname}`
}

/** The key with which secrets are sealed: the setting, else the one that `start` has made; null where there is none. */
export async function findEncryptionKey({ encryptionKey, dataDir }: Config): Promise<string | null> {
  if (encryptionKey !== null) return encryptionKey
  return readFile(join(dataDir, 'encryption-key'), 'utf8').then(
    (text) => text.trim(),
    () => null,
  )
}
