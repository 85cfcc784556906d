import { z } from '@hono/zod-openapi'
import type { Vault } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'

/** Each live secret signs, so that all of their signatures must fit into one header. */
export const maxLiveSecrets = 10

/** The live secrets of an endpoint as the contract shows them. */
export const secretsSchema = z
  .object({
    secrets: z
      .array(z.object({ secret: z.string(), created_at: timeSchema, expires_at: timeSchema.nullable() }))
      .openapi({ description: 'Those that sign, newest first.' }),
  })
  .openapi('Secret')

export type SecretRow = { id: string; secret: string; createdAt: Date; expiresAt: Date | null }

/** The secrets that sign now, opened, newest first. */
export async function readSecrets(
  db: Pick<Prisma.TransactionClient, 'endpointSecret'>,
  vault: Vault,
  endpointId: string,
): Promise<SecretRow[]> {
  const rows = await db.endpointSecret.findMany({
    where: { endpointId, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  })
  return rows.map(({ id, sealed, createdAt, expiresAt }) => ({ id, secret: vault.open(sealed), createdAt, expiresAt }))
}

export function presentSecrets(rows: readonly SecretRow[]): z.infer<typeof secretsSchema> {
  return {
    secrets: rows.map((row) => ({
      secret: row.secret,
      created_at: writeTime(row.createdAt),
      expires_at: writeTimeOrNull(row.expiresAt),
    })),
  }
}
