import { createRoute } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { noContent, problems } from '../../http/responses.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { findEndpoint } from './find-endpoint.ts'
import { laneStatus, withLane } from './lane.ts'

export const endpointDelete = createRoute({
  method: 'delete',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}',
  operationId: 'deleteEndpoint',
  tags: ['Endpoints'],
  summary: 'Remove an endpoint',
  description: 'As disabling it: what is owed is canceled. Its history stays listed until retention.',
  request: { params: endpointParameters },
  responses: { 204: noContent, ...problems },
})

export function registerEndpointDelete(app: App, { prisma }: RouteDeps): void {
  app.openapi(endpointDelete, async (c) => {
    const { tenant, endpoint } = c.req.valid('param')
    const { id } = await findEndpoint(prisma, tenant, endpoint)
    await withLane(prisma, id, async (tx, current) => {
      const version = current.version + 1
      const deletedAt = new Date()
      // The row and its secrets stay: a lease that was taken before may still be sent and signed.
      await tx.endpoint.update({
        where: { id },
        data: { status: 'disabled', disabledReason: 'by_request', version, deletedAt, updatedAt: deletedAt },
      })
      await tx.lane.update({
        where: { endpointId: id },
        data: { status: laneStatus.deleted, draining: true, version },
      })
    })
    return c.body(null, 204)
  })
}
