import { z } from '@hono/zod-openapi'
import type { Vault } from '@posthorn/core'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'
import type { SecretStore } from '../../tenancy/secret-store.ts'

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

export type OpenedSecret = { secret: string; createdAt: Date; expiresAt: Date | null }

/** The secrets that sign now, opened, newest first. */
export async function readSecrets(secrets: SecretStore, vault: Vault): Promise<OpenedSecret[]> {
  const rows = await secrets.live()
  return rows.map(({ sealed, createdAt, expiresAt }) => ({ secret: vault.open(sealed), createdAt, expiresAt }))
}

export function presentSecrets(rows: readonly OpenedSecret[]): z.infer<typeof secretsSchema> {
  return {
    secrets: rows.map((row) => ({
      secret: row.secret,
      created_at: writeTime(row.createdAt),
      expires_at: writeTimeOrNull(row.expiresAt),
    })),
  }
}
