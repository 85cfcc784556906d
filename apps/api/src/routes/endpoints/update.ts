import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { invalid } from '../../http/api-problem.ts'
import { exactMember } from '../../http/exact-member.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { Doorbell } from '../../publish/doorbell.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointPatchInput, toColumns } from './endpoint-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { changeOfOrdering } from './lane.ts'
import { changeOfRate, readRateLimit } from './rate-limit.ts'
import { changeOfSignatures } from './signature-change.ts'
import { changeOfStatus, forgiven } from './status-change.ts'
import { refuseTakenUid } from './uid-taken.ts'

export const endpointUpdate = createRoute({
  method: 'patch',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}',
  operationId: 'updateEndpoint',
  tags: ['Endpoints'],
  summary: 'Change an endpoint',
  description:
    'Replaces each named field whole; null sets its default. Once a pause is answered, no attempt begins. With another `url`, ' +
    'what is owed goes there from the next attempt on, and the failures of the old one are forgotten: its streak, its breaker ' +
    'and any wait that it had asked for. So they are when a disabled endpoint is enabled. With another `ordering`, what is in ' +
    'flight ends before the new one begins. Another `filter` decides what is published once it is answered. A version that `signatures` no longer names signs no more, its secrets are gone; ' +
    'one that is new there has a secret made for it.',
  middleware: [jsonBody, exactMember('filter')],
  request: { params: endpointParameters, body: jsonRequest(endpointPatchInput) },
  responses: { 200: json(endpointSchema, 'Changed'), ...problems },
})

export function registerEndpointUpdate(app: App, deps: TenantRouteDeps & { doorbell: Doorbell }): void {
  const { tenantOf, vault, targets, doorbell } = deps
  app.openapi(endpointUpdate, async (c) => {
    const input = c.req.valid('json')
    if (input.url !== undefined) {
      const target = targets.checkUrl(input.url)
      if (!target.ok) throw invalid('/url', target.message)
    }
    const { endpoints } = tenantOf(c)
    const { id } = await endpoints.find(c.req.valid('param').endpoint)
    const columns = toColumns(input, vault)

    const { row, told } = await endpoints
      .change(id, async ({ current, secrets, setFilter, write, tell }) => {
        const signatures = await changeOfSignatures(current.signatures, input.signatures, secrets, vault)
        const status = changeOfStatus(current.status, input.status)
        const rate =
          input.rate_limit === undefined ? {} : changeOfRate(readRateLimit(current.rateLimit), input.rate_limit)
        if (input.filter !== undefined) await setFilter(input.filter)
        const row = await write(
          { ...columns, ...status.endpoint, ...signatures },
          ({ url, ordering, maxInFlight, timeoutMs }) => {
            const streak = url === current.url ? {} : forgiven
            const order = changeOfOrdering(current.ordering, ordering)
            return { ...status.lane, ...rate, ...streak, ...order, maxInFlight, timeoutMs }
          },
        )
        const told = status.event === null ? [] : await tell(status.event, 'by_request')
        return { row, told }
      })
      .catch(refuseTakenUid)

    // Resumed, or with more room: there may be work.
    doorbell.ring(row.status === 'enabled' ? [id, ...told] : told)
    return c.json(presentEndpoint(row), 200)
  })
}
