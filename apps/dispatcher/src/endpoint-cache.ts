import { createSigner, type Log, type Signer, type Vault } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { type EndpointToSend, readEndpointsToSend } from '@posthorn/core/sql'

import { endpointName } from './log-names.ts'

/** What sending to an endpoint needs, opened and ready. */
export type SendProfile = {
  version: number
  url: string
  timeoutMs: number
  /** Seconds; null is the default. */
  retrySchedule: readonly number[] | null
  headers: readonly (readonly [string, string])[]
  /** A signer with the secrets that are live at `nowMs`. Null when none is. */
  signerAt(nowMs: number): Signer | null
}

const maxProfiles = 20_000

/**
 * Endpoints' configuration by id and version. A claim says which version the lane had when it was locked, so a change
 * holds from the first lease taken after it.
 */
export function createEndpointCache(deps: { pool: Pool; vault: Vault; log: Log }): {
  load(wanted: ReadonlyMap<string, number>): Promise<Map<string, SendProfile>>
} {
  const { pool, vault, log } = deps
  const cache = new Map<string, SendProfile>()

  function open(row: EndpointToSend): SendProfile {
    const secrets = row.secrets.map((secret) => ({ text: vault.open(secret.sealed), expiresAt: secret.expiresAt }))
    const headers =
      row.headersSealed === null ? [] : (JSON.parse(vault.open(row.headersSealed)) as Record<string, string>)
    let signer: Signer | null = null
    let until = Number.NEGATIVE_INFINITY
    return {
      version: row.version,
      url: row.url,
      timeoutMs: row.timeoutMs,
      retrySchedule: row.retrySchedule,
      headers: Object.entries(headers),
      signerAt(nowMs) {
        if (nowMs < until) return signer
        const live = secrets.filter((secret) => secret.expiresAt === null || secret.expiresAt > nowMs)
        until = Math.min(
          ...live.map((secret) => secret.expiresAt ?? Number.POSITIVE_INFINITY),
          Number.POSITIVE_INFINITY,
        )
        signer = live.length > 0 ? createSigner(live.map((secret) => secret.text)) : null
        return signer
      },
    }
  }

  return {
    /** The profiles of endpoints at a version at least the wanted one. One that cannot be opened is left out, and logged. */
    async load(wanted) {
      const result = new Map<string, SendProfile>()
      const missing: string[] = []
      for (const [id, version] of wanted) {
        const known = cache.get(id)
        if (known !== undefined && known.version >= version) result.set(id, known)
        else missing.push(id)
      }
      if (missing.length === 0) return result
      for (const row of await readEndpointsToSend(pool, missing)) {
        try {
          const profile = open(row)
          cache.delete(row.id)
          cache.set(row.id, profile)
          result.set(row.id, profile)
        } catch (error) {
          log.error({ endpoint: endpointName(row.id), err: error }, 'an endpoint could not be opened for sending')
        }
      }
      for (const id of cache.keys()) {
        if (cache.size <= maxProfiles) break
        cache.delete(id)
      }
      return result
    },
  }
}
