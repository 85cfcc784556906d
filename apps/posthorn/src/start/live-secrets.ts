import { setTimeout as sleep } from 'node:timers/promises'
import type { Vault } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import { Webhook } from 'standardwebhooks'

const freshMs = 5_000
/** A flood of requests with wrong signatures reads the database no more often than this. */
const restMs = 200

export type LiveSecrets = {
  /** One verifier for each live secret of the endpoints at these origins, as they were some seconds ago at most. */
  recent(): Promise<readonly Webhook[]>
  /** As `recent`, but as they are at a moment of `performance.now()` or after it. Takes `restMs` at most, and a read. */
  since(atMs: number): Promise<readonly Webhook[]>
}

/** Reads the secrets with which endpoints at the sample receiver are signed, and remembers them briefly. */
export function createLiveSecrets(deps: {
  prisma: PrismaClient
  vault: Vault
  /** Without a slash at the end. */
  origins: readonly string[]
}): LiveSecrets {
  let known: readonly Webhook[] = []
  /** When the read began that found what is known. */
  let readAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | null = null

  async function load(): Promise<void> {
    const beganAt = performance.now()
    const rows = await deps.prisma.endpointSecret.findMany({
      select: { sealed: true },
      where: {
        endpoint: { deletedAt: null, OR: deps.origins.map((origin) => ({ url: { startsWith: `${origin}/` } })) },
        OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }],
      },
      orderBy: { createdAt: 'desc' },
      take: 1_000,
    })
    known = rows.map((row) => new Webhook(deps.vault.open(row.sealed)))
    readAt = beganAt
  }

  async function restAndLoad(): Promise<void> {
    const leftMs = readAt + restMs - performance.now()
    if (leftMs > 0) await sleep(leftMs)
    await load()
  }

  async function since(atMs: number): Promise<readonly Webhook[]> {
    // One that is under way may have begun too early: then another follows it.
    while (readAt < atMs) {
      underWay ??= restAndLoad().finally(() => {
        underWay = null
      })
      await underWay
    }
    return known
  }

  return { recent: () => since(performance.now() - freshMs), since }
}
