import { uuidV7 } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'

export type SecretRow = Prisma.EndpointSecretGetPayload<object>

/** The secrets of one endpoint, sealed. */
export type SecretStore = {
  /** Those that sign now, newest first. */
  live(): Promise<SecretRow[]>
  /** Adds one, which signs without end. */
  add(sealed: Uint8Array<ArrayBuffer>): Promise<void>
  /** Ends those that would sign later than this; those that are to end earlier do. */
  end(at: Date): Promise<void>
  /** Removes what has expired. */
  removeExpired(): Promise<void>
  /** Removes all: none of them signs once this is committed, whatever the clocks say. */
  removeAll(): Promise<void>
}

export function createSecretStore(
  db: Pick<Prisma.TransactionClient, 'endpointSecret'>,
  endpointId: string,
): SecretStore {
  return {
    live: () =>
      db.endpointSecret.findMany({
        where: { endpointId, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      }),
    async add(sealed) {
      await db.endpointSecret.create({ data: { id: uuidV7(), endpointId, sealed } })
    },
    async end(at) {
      const where = { endpointId, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] }
      await db.endpointSecret.updateMany({ where, data: { expiresAt: at } })
    },
    async removeExpired() {
      await db.endpointSecret.deleteMany({ where: { endpointId, expiresAt: { lte: new Date() } } })
    },
    async removeAll() {
      await db.endpointSecret.deleteMany({ where: { endpointId } })
    },
  }
}
