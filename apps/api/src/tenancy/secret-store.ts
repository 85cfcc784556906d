import { uuidV7 } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'

export type SecretRow = Prisma.EndpointSecretGetPayload<object>

/** Versions of signatures (Standard Webhooks 1.0.0): HMAC-SHA256, ed25519. */
export const signatureVersions = ['v1', 'v1a'] as const
export type SignatureVersion = (typeof signatureVersions)[number]

/** The secrets of one endpoint, sealed. Each version has its own, one after another. */
export type SecretStore = {
  /** Those that sign now, newest first. */
  live(): Promise<SecretRow[]>
  /** Adds one, which signs without end. @param publicKey of a v1a secret; null for one of v1 */
  add(secret: { sealed: Uint8Array<ArrayBuffer>; publicKey: string | null }): Promise<void>
  /** Ends those of a version that would sign later than this; those that are to end earlier do. */
  end(version: SignatureVersion, at: Date): Promise<void>
  /** Removes what has expired. */
  removeExpired(): Promise<void>
  /** Removes all of a version: none of them signs once this is committed, whatever the clocks say. */
  removeAll(version: SignatureVersion): Promise<void>
}

export function createSecretStore(
  db: Pick<Prisma.TransactionClient, 'endpointSecret'>,
  endpointId: string,
): SecretStore {
  const of = (version: SignatureVersion) => ({ endpointId, publicKey: version === 'v1' ? null : { not: null } })
  return {
    live: () =>
      db.endpointSecret.findMany({
        where: { endpointId, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      }),
    async add(secret) {
      await db.endpointSecret.create({ data: { id: uuidV7(), endpointId, ...secret } })
    },
    async end(version, at) {
      const where = { ...of(version), OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] }
      await db.endpointSecret.updateMany({ where, data: { expiresAt: at } })
    },
    async removeExpired() {
      await db.endpointSecret.deleteMany({ where: { endpointId, expiresAt: { lte: new Date() } } })
    },
    async removeAll(version) {
      await db.endpointSecret.deleteMany({ where: of(version) })
    },
  }
}
