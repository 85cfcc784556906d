import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { invalid } from '../../http/api-problem.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { Doorbell } from '../../publish/doorbell.ts'
import { endpointSchema, presentEndpoint } from './endpoint.ts'
import { endpointPatchInput, toColumns } from './endpoint-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { findEndpoint } from './find-endpoint.ts'
import { withLane } from './lane.ts'
import { publishOperational } from './operational-event.ts'
import { changeOfRate, readRateLimit } from './rate-limit.ts'
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
    'and any wait that it had asked for. So they are when a disabled endpoint is enabled.',
  middleware: [jsonBody],
  request: { params: endpointParameters, body: jsonRequest(endpointPatchInput) },
  responses: { 200: json(endpointSchema, 'Changed'), ...problems },
})

export function registerEndpointUpdate(app: App, deps: RouteDeps & { doorbell: Doorbell }): void {
  const { prisma, vault, targets, doorbell } = deps
  app.openapi(endpointUpdate, async (c) => {
    const { tenant, endpoint } = c.req.valid('param')
    const input = c.req.valid('json')
    if (input.url !== undefined) {
      const target = targets.checkUrl(input.url)
      if (!target.ok) throw invalid('/url', target.message)
    }
    const { id } = await findEndpoint(prisma, tenant, endpoint)
    const columns = toColumns(input, vault)

    const { row, told } = await withLane(prisma, id, async (tx, current) => {
      const status = changeOfStatus(current.status, input.status)
      const version = current.version + 1
      const row = await tx.endpoint.update({
        where: { id },
        data: { ...columns, ...status.endpoint, version, updatedAt: new Date() },
      })
      const { maxInFlight, timeoutMs } = row
      const rate =
        input.rate_limit === undefined ? {} : changeOfRate(readRateLimit(current.rateLimit), input.rate_limit)
      const streak = row.url === current.url ? {} : forgiven
      const lane = { ...status.lane, ...rate, ...streak, version, maxInFlight, timeoutMs }
      await tx.lane.update({ where: { endpointId: id }, data: lane })
      const told = status.event === null ? [] : await publishOperational(tx, status.event, row, 'by_request')
      return { row, told }
    }).catch(refuseTakenUid)

    // Resumed, or with more room: there may be work.
    doorbell.ring(row.status === 'enabled' ? [id, ...told] : told)
    return c.json(presentEndpoint(row), 200)
  })
}
