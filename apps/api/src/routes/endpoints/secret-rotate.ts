import { createRoute, z } from '@hono/zod-openapi'
import { generateSecret } from '@posthorn/core'
import type { App } from '../../app.ts'
import { ApiProblem, invalid } from '../../http/api-problem.ts'
import { jsonBodyOrNone } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { secretInput } from './endpoint-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { maxLiveSecrets, presentSecrets, readSecrets, secretsSchema } from './secrets.ts'

const defaultGraceSeconds = 86_400

const rotationInput = z.strictObject({
  secret: secretInput.nullable().optional(),
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
    'The old and the new one both sign until the grace is over. Each attempt is signed with what is live then.',
  middleware: [jsonBodyOrNone],
  request: { params: endpointParameters, body: jsonRequest(rotationInput) },
  responses: { 200: json(secretsSchema, 'The secrets that sign now'), ...problems },
})

export function registerEndpointSecretRotate(app: App, { tenantOf, vault }: TenantRouteDeps): void {
  app.openapi(endpointSecretRotate, async (c) => {
    const input = c.req.valid('json')
    const secret = input.secret ?? generateSecret()
    const graceSeconds = input.grace_seconds ?? defaultGraceSeconds
    const { endpoints } = tenantOf(c)
    const { id } = await endpoints.find(c.req.valid('param').endpoint)

    const live = await endpoints.change(id, async ({ secrets, write }) => {
      const before = await readSecrets(secrets, vault)
      if (before.some((row) => row.secret === secret)) throw invalid('/secret', 'Signs already.')
      if (graceSeconds > 0 && before.length >= maxLiveSecrets) {
        throw new ApiProblem('too_many_secrets', `At most ${maxLiveSecrets} secrets sign at once.`)
      }
      if (graceSeconds === 0) {
        await secrets.removeAll()
      } else {
        await secrets.removeExpired()
        await secrets.end(new Date(Date.now() + graceSeconds * 1000))
      }
      await secrets.add(new Uint8Array(vault.seal(secret)))
      await write({})
      return readSecrets(secrets, vault)
    })
    c.header('cache-control', 'no-store')
    return c.json(presentSecrets(live), 200)
  })
}
