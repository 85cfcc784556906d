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
  if (!address.ofStart && !isLoopback(address.url)) {
    throw new UsageError(
      `no API key for ${address.url} (from ${address.urlFrom}): set POSTHORN_API_KEY. The one in ${shown(path)} is that of the \`start\` on this machine, and is sent to no other`,
    )
  }
  const apiKey = await readFirst(path)
  if (apiKey !== null) return { ...address, apiKey, keyFrom: path }
  throw new UsageError(
    `no API key: set POSTHORN_API_KEY, or run this in the folder in which \`start\` was typed (there is no ${shown(path)})`,
  )
}

/** `ofStart`: it is where the `start` of this machine is, or would be. */
type Address = { url: string; urlFrom: string; ofStart: boolean }

async function findUrl(settings: Connection, given: string | undefined): Promise<Address> {
  if (given !== undefined) {
    if (!/^https?:\/\//.test(given))
      throw new UsageError(`--url: must begin with http:// or https://, unlike ${given.slice(0, 200)}`)
    return { url: given, urlFrom: '--url', ofStart: false }
  }
  if (settings.url !== null) return { url: settings.url, urlFrom: 'POSTHORN_URL', ofStart: false }
  if (settings.host !== null || settings.port) {
    const url = `http://${reachable(settings.host ?? '127.0.0.1')}:${settings.port || 8080}`
    return { url, urlFrom: 'POSTHORN_HOST and POSTHORN_PORT', ofStart: true }
  }
  const path = join(settings.dataDir, apiUrlFile)
  const running = await readFirst(path)
  if (running !== null) return { url: running, urlFrom: path, ofStart: true }
  return { url: 'http://127.0.0.1:8080', urlFrom: 'the default', ofStart: true }
}

function isLoopback(text: string): boolean {
  const hostname = URL.parse(text)?.hostname ?? ''
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
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
