import { timingSafeEqual } from 'node:crypto'
import type { Log } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import { tooManyRequests } from '../http/api-problem.ts'
import { createFailedAttempts } from './failed-attempts.ts'
import type { Principal } from './principal.ts'
import { hashToken, isTokenForm } from './token.ts'

/** A revoked or expired key works at most this long in another process. */
const cacheMs = 1_000
const cacheSize = 10_000
const touchEveryMs = 60_000

export type TokenReader = {
  /** Who holds the token, where that is known without asking the database; else null. */
  known(token: string): Principal | null
  /**
   * Who holds the token; null for an unknown, revoked or expired one.
   * @param address whence it came
   * @throws ApiProblem 429 when too many unknown ones came from there, or in all
   */
  read(token: string, address: string): Promise<Principal | null>
  /** Drops what is remembered: called once a key is revoked, so that this process refuses it from then on. */
  forget(): void
  /** Returns when nothing runs in the background. */
  stop(): Promise<void>
}

type Known = { principal: Principal; expiresAtMs: number; readAtMs: number }

/** Reads tokens: the operator's from the settings, all others from `api_key` by their hash. */
export function createTokenReader(deps: { operatorToken: string | null; prisma: PrismaClient; log: Log }): TokenReader {
  const operatorHash = deps.operatorToken === null ? null : hashToken(deps.operatorToken)
  const operator: Principal = { kind: 'operator', keyId: null, tenantId: null }
  const failures = createFailedAttempts()
  // Good ones only: a flood of others must not drive them out.
  const known = new Map<string, Known>()
  const underWay = new Map<string, Promise<Known | null>>()
  const touchedAt = new Map<string, number>()
  const touches = new Set<Promise<void>>()
  // What was looked up before the last `forget` must not be remembered after it.
  let generation = 0

  async function lookUp(hash: Buffer, key: string): Promise<Known | null> {
    const begun = generation
    const row = await deps.prisma.apiKey.findUnique({ where: { tokenHash: new Uint8Array(hash) } })
    // The index has compared the hashes already, in a time that tells nothing of use: who asks cannot choose them. This
    // compares them in constant time.
    const same = row !== null && timingSafeEqual(row.tokenHash, hash)
    const principal = !same || row.revokedAt !== null ? null : toPrincipal(row)
    const expiresAtMs = row?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    const found = principal === null ? null : { principal, expiresAtMs, readAtMs: Date.now() }
    if (begun === generation) {
      known.delete(key)
      if (found !== null) known.set(key, found)
      if (known.size > cacheSize) known.delete(known.keys().next().value!)
    }
    return found
  }

  function find(hash: Buffer, key: string): Promise<Known | null> {
    let lookup = underWay.get(key)
    if (lookup === undefined) {
      lookup = lookUp(hash, key).finally(() => {
        if (underWay.get(key) === lookup) underWay.delete(key)
      })
      underWay.set(key, lookup)
    }
    return lookup
  }

  const isFresh = (found: Known): boolean => Date.now() - found.readAtMs < cacheMs

  /** Of a token that was good a while ago, the good one is expected: it is looked up again whatever others do. */
  async function findBounded(hash: Buffer, token: string, address: string): Promise<Known | null> {
    const key = hash.toString('latin1')
    const remembered = known.get(key)
    if (remembered !== undefined) {
      return isFresh(remembered) ? remembered : find(hash, key)
    }
    const waitMs = failures.begin(address)
    if (waitMs > 0) throw tooManyRequests('Too many unknown tokens.', waitMs)
    // Of another form, it cannot be in the table.
    if (!isTokenForm(token)) return null
    let failed = false
    try {
      const found = await find(hash, key)
      failed = found === null
      return found
    } finally {
      // A database that is away is told of as that.
      if (!failed) failures.forgive(address)
    }
  }

  /** `last_used_at`, once a minute, off the request's path. */
  function touch(id: string): void {
    const now = Date.now()
    if (now - (touchedAt.get(id) ?? 0) < touchEveryMs) return
    if (touchedAt.size >= cacheSize) touchedAt.clear()
    touchedAt.set(id, now)
    const stale = { OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: new Date(now - touchEveryMs) } }] }
    const written = deps.prisma.apiKey
      .updateMany({ where: { id, ...stale }, data: { lastUsedAt: new Date(now) } })
      .then(
        () => {},
        (error: unknown) => deps.log.warn({ err: error }, 'the last use of an API key was not noted'),
      )
    touches.add(written)
    void written.finally(() => touches.delete(written))
  }

  const isOperator = (hash: Buffer): boolean => operatorHash !== null && timingSafeEqual(hash, operatorHash)

  /** Who holds it, noted as used; null once it has expired. */
  function use(found: Known): Principal | null {
    if (found.expiresAtMs <= Date.now()) return null
    if (found.principal.keyId !== null) touch(found.principal.keyId)
    return found.principal
  }

  return {
    known(token) {
      const hash = hashToken(token)
      if (isOperator(hash)) return operator
      const found = known.get(hash.toString('latin1'))
      return found !== undefined && isFresh(found) ? use(found) : null
    },
    async read(token, address) {
      const hash = hashToken(token)
      if (isOperator(hash)) return operator
      const found = await findBounded(hash, token, address)
      return found === null ? null : use(found)
    },
    forget() {
      generation++
      known.clear()
      underWay.clear()
    },
    async stop() {
      await Promise.all(touches)
    },
  }
}

function toPrincipal(row: { id: string; kind: string; tenantId: string | null }): Principal | null {
  if (row.kind === 'operator') return { kind: 'operator', keyId: row.id, tenantId: null }
  if (row.kind === 'publish') return { kind: 'publish', keyId: row.id, tenantId: row.tenantId }
  return row.tenantId === null ? null : { kind: 'tenant', keyId: row.id, tenantId: row.tenantId }
}
