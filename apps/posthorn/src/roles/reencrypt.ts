import { setTimeout as sleep } from 'node:timers/promises'
import { encodeId, type Vault, VaultError } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { readStale, replaceStale, type SealedKind, type SealedValue } from '@posthorn/core/sql'

const batchSize = 500
const againMs = 200
const first = '00000000-0000-0000-0000-000000000000'

export type Reencrypted = {
  /** How many were sealed anew. */
  secrets: number
  headers: number
  /** The endpoints' ids of what no key of the vault opens, an id for each value. */
  closed: string[]
}

/**
 * Seals with the vault's current key all that its previous one had sealed.
 *
 * Safe while APIs and dispatchers run that have both keys, in batches that hold no lock longer than a statement, and as often
 * as one likes: what is done already is passed over. Goes on until a whole pass finds nothing, so that what was locked, or
 * sealed meanwhile with the previous key by a process that still has it as its current one, comes in the next.
 * @throws the signal's reason when it is asked to stop
 */
export async function reencrypt(deps: { pool: Pool; vault: Vault; stopping: AbortSignal }): Promise<Reencrypted> {
  const { stopping } = deps
  const result: Reencrypted = { secrets: 0, headers: 0, closed: [] }
  for (;;) {
    const closed: string[] = []
    let left = 0
    for (const kind of ['secrets', 'headers'] as const) {
      const pass = await passOver(kind, deps)
      result[kind] += pass.replaced
      left += pass.passedOver
      closed.push(...pass.closed)
    }
    if (left === 0) return { ...result, closed }
    await sleep(againMs, undefined, { signal: stopping })
  }
}

type Pass = { replaced: number; passedOver: number; closed: string[] }

async function passOver(
  kind: SealedKind,
  { pool, vault, stopping }: { pool: Pool; vault: Vault; stopping: AbortSignal },
): Promise<Pass> {
  const pass: Pass = { replaced: 0, passedOver: 0, closed: [] }
  for (let after = first; ; ) {
    stopping.throwIfAborted()
    const stale = await readStale(pool, kind, { after, head: vault.head, limit: batchSize })
    const fresh = stale.map((value) => resealed(vault, value))
    for (const each of fresh) if (each.fresh === null) pass.closed.push(encodeId('ep', each.endpointId))
    const ready = fresh.filter((each): each is typeof each & { fresh: Buffer } => each.fresh !== null)
    if (ready.length > 0) {
      const replaced = await replaceStale(pool, kind, ready)
      pass.replaced += replaced
      pass.passedOver += ready.length - replaced
    }
    if (stale.length < batchSize) return pass
    after = stale.at(-1)!.id
  }
}

function resealed(vault: Vault, { id, endpointId, sealed }: SealedValue) {
  try {
    return { id, endpointId, old: sealed, fresh: vault.seal(vault.open(sealed)) }
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return { id, endpointId, old: sealed, fresh: null }
  }
}
