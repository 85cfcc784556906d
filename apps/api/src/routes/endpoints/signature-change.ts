import type { Vault } from '@posthorn/core'
import { ApiProblem } from '../../http/api-problem.ts'
import type { SecretStore, SignatureVersion } from '../../tenancy/secret-store.ts'
import { maxLiveSecrets, sealSecret, toSecret } from './secrets.ts'

/**
 * Writes the secrets that follow from the versions a caller names: those of a version that is gone are removed, one that is new
 * has one made. `undefined` leaves them; null is the default.
 * @returns the endpoint's columns
 * @throws ApiProblem 409 when too many secrets sign already
 */
export async function changeOfSignatures(
  current: readonly string[],
  wanted: SignatureVersion[] | null | undefined,
  secrets: SecretStore,
  vault: Vault,
): Promise<{ signatures?: SignatureVersion[] }> {
  if (wanted === undefined) return {}
  const signatures = wanted ?? ['v1']
  for (const version of ['v1', 'v1a'] as const) {
    if (!signatures.includes(version)) await secrets.removeAll(version)
  }
  for (const version of signatures) {
    if (current.includes(version)) continue
    if ((await secrets.live()).length >= maxLiveSecrets) {
      throw new ApiProblem('too_many_secrets', `At most ${maxLiveSecrets} secrets sign at once.`)
    }
    await secrets.add(sealSecret(vault, toSecret(version, null)))
  }
  return { signatures }
}
