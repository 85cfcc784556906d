import { setTimeout as sleep } from 'node:timers/promises'
import { type Vault, verify } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'

const freshMs = 5_000
/** A flood of requests with wrong signatures reads the database no more often than this. */
const restMs = 200

export type Verifier = {
  version: 'v1' | 'v1a'
  /** Why a webhook does not verify; null when it does. */
  faultOf(body: Buffer, headers: Record<string, string>): string | null
}

export type LiveSecrets = {
  /** One verifier for each live secret of the endpoints at these origins, as they were some seconds ago at most. */
  recent(): Promise<readonly Verifier[]>
  /** As `recent`, but as they are at a moment of `performance.now()` or after it. Takes `restMs` at most, and a read. */
  since(atMs: number): Promise<readonly Verifier[]>
}

/** Reads the secrets with which endpoints at the sample receiver are signed, and remembers them briefly. */
export function createLiveSecrets(deps: {
  prisma: PrismaClient
  vault: Vault
  /** Without a slash at the end. */
  origins: readonly string[]
}): LiveSecrets {
  let known: readonly Verifier[] = []
  /** When the read began that found what is known. */
  let readAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | null = null

  async function load(): Promise<void> {
    const beganAt = performance.now()
    const rows = await deps.prisma.endpointSecret.findMany({
      select: { sealed: true, publicKey: true },
      where: {
        endpoint: { deletedAt: null, OR: deps.origins.map((origin) => ({ url: { startsWith: `${origin}/` } })) },
        OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }],
      },
      orderBy: { createdAt: 'desc' },
      take: 1_000,
    })
    known = rows.map((row) => (row.publicKey === null ? officially(deps.vault.open(row.sealed)) : byKey(row.publicKey)))
    readAt = beganAt
  }

  async function restAndLoad(): Promise<void> {
    const leftMs = readAt + restMs - performance.now()
    if (leftMs > 0) await sleep(leftMs)
    await load()
  }

  async function since(atMs: number): Promise<readonly Verifier[]> {
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

function officially(secret: string): Verifier {
  const webhook = new Webhook(secret)
  return {
    version: 'v1',
    faultOf(body, headers) {
      try {
        webhook.verify(body, headers, { jsonParse: false })
        return null
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error
        return error.message
      }
    },
  }
}

/** The official library does not know v1a. */
function byKey(publicKey: string): Verifier {
  return {
    version: 'v1a',
    faultOf(body, headers) {
      const result = verify([publicKey], headers, body)
      return result.verified ? null : result.reason.replaceAll('_', ' ')
    },
  }
}
