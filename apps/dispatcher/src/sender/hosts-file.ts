import type { LookupAddress } from 'node:dns'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

/** The names that this machine's own table gives addresses to. */
export type HostsFile = { addressesOf(name: string): LookupAddress[] }

const path = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
const lookAgainAfterMs = 5_000
const longestBytes = 4 * 1024 * 1024

/** Reads `/etc/hosts`, and again when it has changed, which is looked at each five seconds. One that is not there is empty. */
export function createHostsFile(): HostsFile {
  let table = new Map<string, LookupAddress[]>()
  let readAs = ''
  let lookedAt = Number.NEGATIVE_INFINITY

  const refresh = (): void => {
    lookedAt = performance.now()
    try {
      const { size, mtimeMs, ino } = statSync(path)
      const version = `${ino} ${size} ${mtimeMs}`
      if (version === readAs || size > longestBytes) return
      readAs = version
      table = parseHosts(readFileSync(path, 'utf8'))
    } catch {
      readAs = ''
      table = new Map()
    }
  }

  return {
    addressesOf(name) {
      if (performance.now() - lookedAt > lookAgainAfterMs) refresh()
      return table.get(name.toLowerCase()) ?? []
    },
  }
}

/** Names in lower case, each with its addresses in order; lines that are no address and names are passed over. */
export function parseHosts(text: string): Map<string, LookupAddress[]> {
  const table = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0 || address.includes('%')) continue
    for (const name of names) {
      const key = name.toLowerCase()
      table.set(key, [...(table.get(key) ?? []), { address, family }])
    }
  }
  return table
}
