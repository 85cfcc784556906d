import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { ApiProblem, invalid } from '../../http/api-problem.ts'
import { jsonBodyOrNone } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { SignatureVersion } from '../../tenancy/secret-store.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import {
  maxLiveSecrets,
  presentSecrets,
  readSecrets,
  sealSecret,
  secretInput,
  secretsSchema,
  signatureVersion,
  toSecret,
  versionOf,
} from './secrets.ts'

const defaultGraceSeconds = 86_400

const rotationInput = z.strictObject({
  secret: secretInput.nullable().optional(),
  signature: signatureVersion.nullable().optional().openapi({
    description:
      'Which version to rotate, where the endpoint signs with both. That of `secret`, or else `v1`, when left out.',
  }),
  grace_seconds: z
    .int()
    .min(0)
    .max(604_800)
    .nullable()
    .optional()
    .openapi({ default: defaultGraceSeconds, description: 'How long the secrets before it sign too.' }),
})

export const endpointSecretRotate = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/secret/rotate',
  operationId: 'rotateEndpointSecret',
  tags: ['Endpoints'],
  summary: "Rotate an endpoint's secret",
  description:
    `The old and the new one both sign until the grace is over; at most ${maxLiveSecrets} sign at once, a further one is a 409. ` +
    'Each attempt, a retry too, is signed with what is live then.',
  middleware: [jsonBodyOrNone],
  request: { params: endpointParameters, body: jsonRequest(rotationInput) },
  responses: { 200: json(secretsSchema, 'The secrets that sign now'), ...problems },
})

export function registerEndpointSecretRotate(app: App, { tenantOf, vault }: TenantRouteDeps): void {
  app.openapi(endpointSecretRotate, async (c) => {
    const input = c.req.valid('json')
    const graceSeconds = input.grace_seconds ?? defaultGraceSeconds
    const { endpoints } = tenantOf(c)
    const { id } = await endpoints.find(c.req.valid('param').endpoint)

    const live = await endpoints.change(id, async ({ current, secrets, write }) => {
      const version = versionToRotate(input, current.signatures)
      const fresh = toSecret(version, input.secret)
      const before = await readSecrets(secrets, vault)
      const signs = before.some(
        ({ secret, publicKey }) => secret === fresh.secret || publicKey === (fresh.publicKey ?? ''),
      )
      if (signs) throw invalid('/secret', 'Signs already.')
      if (graceSeconds > 0 && before.length >= maxLiveSecrets) {
        throw new ApiProblem('too_many_secrets', `At most ${maxLiveSecrets} secrets sign at once.`)
      }
      if (graceSeconds === 0) {
        await secrets.removeAll(version)
      } else {
        await secrets.removeExpired()
        await secrets.end(version, new Date(Date.now() + graceSeconds * 1000))
      }
      await secrets.add(sealSecret(vault, fresh))
      await write({})
      return readSecrets(secrets, vault)
    })
    c.header('cache-control', 'no-store')
    return c.json(presentSecrets(live), 200)
  })
}

/** @throws ApiProblem 422 for a secret of another version than is named, 409 for one with which the endpoint does not sign */
function versionToRotate(input: z.output<typeof rotationInput>, signatures: readonly string[]): SignatureVersion {
  const given = input.secret ? versionOf(input.secret) : null
  const version = input.signature ?? given ?? (signatures.includes('v1') ? 'v1' : 'v1a')
  if (given !== null && given !== version) throw invalid('/secret', `Is of ${given}, not of ${version}.`)
  if (signatures.includes(version)) return version
  throw new ApiProblem('state_conflict', `The endpoint does not sign with ${version}: change its \`signatures\` first.`)
}
