import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Connection } from '@posthorn/core'
import { apiUrlFile } from '../start/api-url.ts'
import { reachable } from '../start/reachable.ts'
import { UsageError } from './usage-error.ts'

/** Where the API is and with which key it is called, and where that was found. */
export type ApiPlace = { url: string; urlFrom: string; apiKey: string; keyFrom: string }

/**
 * Finds the API: what was given on the command line, else what the environment says, else the `start` that runs on the data
 * folder, else where one listens by default. The key likewise, last the one that `start` has made.
 * @throws UsageError when there is no key
 */
export async function findApi(settings: Connection, given: { url?: string; apiKey?: string }): Promise<ApiPlace> {
  const address = await findUrl(settings, given.url)
  if (given.apiKey !== undefined) return { ...address, apiKey: given.apiKey, keyFrom: '--api-key' }
  if (settings.apiKey !== null) return { ...address, apiKey: settings.apiKey, keyFrom: 'POSTHORN_API_KEY' }
  const path = join(settings.dataDir, 'api-key')
  const apiKey = await readFirst(path)
  if (apiKey !== null) return { ...address, apiKey, keyFrom: path }
  throw new UsageError(
    `no API key: set POSTHORN_API_KEY, or run this in the folder in which \`start\` was typed (there is no ${shown(path)})`,
  )
}

async function findUrl(settings: Connection, given: string | undefined): Promise<{ url: string; urlFrom: string }> {
  if (given !== undefined) return { url: given, urlFrom: '--url' }
  if (settings.url !== null) return { url: settings.url, urlFrom: 'POSTHORN_URL' }
  if (settings.host !== null || settings.port) {
    const url = `http://${reachable(settings.host ?? '127.0.0.1')}:${settings.port || 8080}`
    return { url, urlFrom: 'POSTHORN_HOST and POSTHORN_PORT' }
  }
  const path = join(settings.dataDir, apiUrlFile)
  const running = await readFirst(path)
  if (running !== null) return { url: running, urlFrom: path }
  return { url: 'http://127.0.0.1:8080', urlFrom: 'the default' }
}

/** What a small file holds; null where there is none. */
async function readFirst(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim().slice(0, 2_048) || null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new UsageError(
      `${shown(path)} cannot be read (${code}): set POSTHORN_API_KEY and POSTHORN_URL, or ask who owns it`,
    )
  }
}

function shown(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}
