import { createRoute, z } from '@hono/zod-openapi'
import { generateSecret, uuidV7 } from '@posthorn/core'
import type { App, RouteDeps } from '../../app.ts'
import { ApiProblem, invalid } from '../../http/api-problem.ts'
import { jsonBodyOrNone } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { secretInput } from './endpoint-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { findEndpoint } from './find-endpoint.ts'
import { withLane } from './lane.ts'
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

export function registerEndpointSecretRotate(app: App, { prisma, vault }: RouteDeps): void {
  app.openapi(endpointSecretRotate, async (c) => {
    const { tenant, endpoint } = c.req.valid('param')
    const input = c.req.valid('json')
    const secret = input.secret ?? generateSecret()
    const graceSeconds = input.grace_seconds ?? defaultGraceSeconds
    const { id } = await findEndpoint(prisma, tenant, endpoint)

    const live = await withLane(prisma, id, async (tx, current) => {
      const before = await readSecrets(tx, vault, id)
      if (before.some((row) => row.secret === secret)) throw invalid('/secret', 'Signs already.')
      if (graceSeconds > 0 && before.length >= maxLiveSecrets) {
        throw new ApiProblem('too_many_secrets', `At most ${maxLiveSecrets} secrets sign at once.`)
      }
      const expiresAt = new Date(Date.now() + graceSeconds * 1000)
      // Those that are to end earlier do. Without grace they go at once, whatever the clocks say.
      const older = graceSeconds === 0 ? {} : { expiresAt: { lte: new Date() } }
      await tx.endpointSecret.deleteMany({ where: { endpointId: id, ...older } })
      await tx.endpointSecret.updateMany({
        where: { endpointId: id, OR: [{ expiresAt: null }, { expiresAt: { gt: expiresAt } }] },
        data: { expiresAt },
      })
      const sealed = new Uint8Array(vault.seal(secret))
      await tx.endpointSecret.create({ data: { id: uuidV7(), endpointId: id, sealed } })
      const version = current.version + 1
      await tx.endpoint.update({ where: { id }, data: { version, updatedAt: new Date() } })
      await tx.lane.update({ where: { endpointId: id }, data: { version } })
      return readSecrets(tx, vault, id)
    })
    c.header('cache-control', 'no-store')
    return c.json(presentSecrets(live), 200)
  })
}
