import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { invalid } from '../../http/api-problem.ts'
import { exactMember } from '../../http/exact-member.ts'
import { endpointTenantParameter } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { newEndpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointInput, toColumns } from './endpoint-input.ts'
import { laneOrdering, laneStatus } from './lane.ts'
import { changeOfRate } from './rate-limit.ts'
import { type NewSecret, sealSecret, toSecret, versionOf } from './secrets.ts'
import { refuseTakenUid } from './uid-taken.ts'

export const endpointCreate = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/endpoints',
  operationId: 'createEndpoint',
  tags: ['Endpoints'],
  summary: 'Register an endpoint',
  description:
    'Makes the tenant when it is new. The answer holds the secret. Under the tenant `posthorn`, which an operator key alone ' +
    'may use, it takes the events about Posthorn itself: `endpoint.disabled`, `endpoint.enabled`, `endpoint.failing`, ' +
    '`endpoint.healthy` and `delivery.exhausted`.',
  middleware: [jsonBody, exactMember('filter')],
  request: { params: z.object({ tenant: endpointTenantParameter }), body: jsonRequest(endpointInput) },
  responses: { 201: json(newEndpointSchema, 'Registered'), ...problems },
})

export function registerEndpointCreate(app: App, { tenantOf, vault, targets }: TenantRouteDeps): void {
  app.openapi(endpointCreate, async (c) => {
    const { secret: given, ...input } = c.req.valid('json')
    const target = targets.checkUrl(input.url)
    if (!target.ok) throw invalid('/url', target.message)

    const signatures = input.signatures ?? [given ? versionOf(given) : 'v1']
    if (given && !signatures.includes(versionOf(given))) {
      throw invalid('/secret', `Is of ${versionOf(given)}, which \`signatures\` does not name.`)
    }
    const made = signatures.map((version) => toSecret(version, given && versionOf(given) === version ? given : null))
    const status = input.status ?? 'enabled'
    const disabledReason = status === 'disabled' ? 'by_request' : null
    const endpoint = { ...toColumns(input, vault), url: input.url, status, disabledReason, signatures }
    const lane = {
      ...changeOfRate(null, input.rate_limit ?? null),
      status: laneStatus[status],
      ordering: laneOrdering[input.ordering ?? 'none'],
    }
    const row = await tenantOf(c)
      .endpoints.create({ endpoint, filter: input.filter ?? null, lane }, async (secrets) => {
        for (const each of made) await secrets.add(sealSecret(vault, each))
      })
      .catch(refuseTakenUid)
    c.header('cache-control', 'no-store')
    return c.json({ ...presentEndpoint(row), secret: secretOf(made), public_key: publicKeyOf(made) }, 201)
  })
}

function secretOf(made: readonly NewSecret[]): string | null {
  return made.find((each) => each.publicKey === null)?.secret ?? null
}

function publicKeyOf(made: readonly NewSecret[]): string | null {
  return made.find((each) => each.publicKey !== null)?.publicKey ?? null
}
