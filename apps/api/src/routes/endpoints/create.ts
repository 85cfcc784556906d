import { createRoute, z } from '@hono/zod-openapi'
import { generateSecret, uuidV7 } from '@posthorn/core'
import type { App, RouteDeps } from '../../app.ts'
import { invalid } from '../../http/api-problem.ts'
import { endpointTenantParameter } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { newEndpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointInput, toColumns } from './endpoint-input.ts'
import { laneStatus } from './lane.ts'
import { changeOfRate } from './rate-limit.ts'
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
  middleware: [jsonBody],
  request: { params: z.object({ tenant: endpointTenantParameter }), body: jsonRequest(endpointInput) },
  responses: { 201: json(newEndpointSchema, 'Registered'), ...problems },
})

export function registerEndpointCreate(app: App, { prisma, vault, targets }: RouteDeps): void {
  app.openapi(endpointCreate, async (c) => {
    const { tenant: tenantId } = c.req.valid('param')
    const { secret: given, ...input } = c.req.valid('json')
    const target = targets.checkUrl(input.url)
    if (!target.ok) throw invalid('/url', target.message)

    const id = uuidV7()
    const secret = given ?? generateSecret()
    const status = input.status ?? 'enabled'
    const columns = { ...toColumns(input, vault), url: input.url, status }
    const disabledReason = status === 'disabled' ? 'by_request' : null
    const row = await prisma
      .$transaction(
        async (tx) => {
          await tx.tenant.createMany({ data: [{ id: tenantId }], skipDuplicates: true })
          const made = await tx.endpoint.create({ data: { id, tenantId, disabledReason, ...columns } })
          const { maxInFlight, timeoutMs, version } = made
          const rate = changeOfRate(null, input.rate_limit ?? null)
          const lane = {
            endpointId: id,
            tenantId,
            status: laneStatus[status],
            version,
            maxInFlight,
            timeoutMs,
            ...rate,
          }
          await tx.lane.create({ data: lane })
          const sealed = new Uint8Array(vault.seal(secret))
          await tx.endpointSecret.create({ data: { id: uuidV7(), endpointId: id, sealed } })
          return made
        },
        { isolationLevel: 'ReadCommitted', maxWait: 5_000, timeout: 15_000 },
      )
      .catch(refuseTakenUid)
    c.header('cache-control', 'no-store')
    return c.json({ ...presentEndpoint(row), secret }, 201)
  })
}
