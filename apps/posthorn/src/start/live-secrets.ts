import type { Vault } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import { Webhook } from 'standardwebhooks'

const freshMs = 5_000
/** A flood of requests with wrong signatures reads the database no more often than this. */
const missMs = 200

export type LiveSecrets = {
  /** One verifier for each live secret of the endpoints at these origins. @param afterMiss none of the last matched */
  read(afterMiss: boolean): Promise<readonly Webhook[]>
}

/** Reads the secrets with which endpoints at the sample receiver are signed, and remembers them briefly. */
export function createLiveSecrets(deps: {
  prisma: PrismaClient
  vault: Vault
  /** Without a slash at the end. */
  origins: readonly string[]
}): LiveSecrets {
  let known: readonly Webhook[] = []
  let readAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<readonly Webhook[]> | null = null

  async function load(): Promise<readonly Webhook[]> {
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
    readAt = performance.now()
    return known
  }

  return {
    async read(afterMiss) {
      if (performance.now() - readAt < (afterMiss ? missMs : freshMs)) return known
      underWay ??= load().finally(() => {
        underWay = null
      })
      return underWay
    },
  }
}
