import { z } from '@hono/zod-openapi'
import {
  generateSecret,
  generateSigningKey,
  isSigningKey,
  parseSecret,
  parseSigningKey,
  type Vault,
} from '@posthorn/core'
import { timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'
import { type SecretStore, type SignatureVersion, signatureVersions } from '../../tenancy/secret-store.ts'

/** Each live secret signs, so that all of their signatures must fit into one header. */
export const maxLiveSecrets = 10

export const signatureVersion = z.enum(signatureVersions)

/** The versions with which an endpoint signs. */
export const signaturesSchema = z
  .array(signatureVersion)
  .min(1, { error: 'Must name at least one version.' })
  .refine((versions) => new Set(versions).size === versions.length, { error: 'Must name each version once.' })
  .openapi({
    minItems: 1,
    maxItems: signatureVersions.length,
    uniqueItems: true,
    default: ['v1'],
    description:
      'With which versions of Standard Webhooks signatures attempts are signed. `v1` (HMAC-SHA256) is what its official libraries ' +
      'verify. `v1a` (ed25519) lets a receiver verify with a public key alone; few libraries know it, and those that do not find no ' +
      'signature in a request that has no other. With both, each request carries both.',
  })

/** A secret that the product brings. */
export const secretInput = z
  .string()
  .max(200)
  .superRefine((text, context) => {
    const { reason } = isSigningKey(text) ? parseSigningKey(text) : parseSecret(text)
    if (reason !== null) context.addIssue({ code: 'custom', message: reason })
  })
  .openapi({
    description:
      '`whsec_` and the base64 of 24 to 64 bytes (v1), or `whsk_` and the base64 of an ed25519 seed and its public key, 64 bytes (v1a). Made for you when left out.',
  })

/** The live secrets of an endpoint as the contract shows them. A private key is never shown. */
export const secretsSchema = z
  .object({
    secrets: z
      .array(
        z.object({
          signature: signatureVersion,
          secret: z.string().nullable().openapi({ description: 'Of v1: `whsec_...`. null for v1a.' }),
          public_key: z.string().nullable().openapi({ description: 'Of v1a: `whpk_...`. null for v1.' }),
          created_at: timeSchema,
          expires_at: timeSchema.nullable(),
        }),
      )
      .openapi({ description: `Those that sign, newest first; at most ${maxLiveSecrets}.` }),
  })
  .openapi('Secret')

/** A secret with what is shown of it: of v1 itself, of v1a the public key. */
export type NewSecret = { secret: string; publicKey: string | null }

/** One that the product brought, checked already, or one that is made. */
export function toSecret(version: SignatureVersion, given: string | null | undefined): NewSecret {
  if (version === 'v1') return { secret: given ?? generateSecret(), publicKey: null }
  return given ? { secret: given, publicKey: parseSigningKey(given).publicKey } : generateSigningKey()
}

export function versionOf(secret: string): SignatureVersion {
  return isSigningKey(secret) ? 'v1a' : 'v1'
}

/** As the store takes it. */
export function sealSecret(vault: Vault, { secret, publicKey }: NewSecret) {
  return { sealed: new Uint8Array(vault.seal(secret)), publicKey }
}

export type ShownSecret = { secret: string | null; publicKey: string | null; createdAt: Date; expiresAt: Date | null }

/** The secrets that sign now, as they may be shown, newest first. */
export async function readSecrets(secrets: SecretStore, vault: Vault): Promise<ShownSecret[]> {
  const rows = await secrets.live()
  return rows.map(({ sealed, publicKey, createdAt, expiresAt }) => {
    return { secret: publicKey === null ? vault.open(sealed) : null, publicKey, createdAt, expiresAt }
  })
}

export function presentSecrets(rows: readonly ShownSecret[]): z.infer<typeof secretsSchema> {
  return {
    secrets: rows.map((row) => ({
      signature: row.publicKey === null ? 'v1' : 'v1a',
      secret: row.secret,
      public_key: row.publicKey,
      created_at: writeTime(row.createdAt),
      expires_at: writeTimeOrNull(row.expiresAt),
    })),
  }
}
