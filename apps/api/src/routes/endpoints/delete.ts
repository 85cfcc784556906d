import { createRoute } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { noContent, problems } from '../../http/responses.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { laneStatus } from './lane.ts'

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

export function registerEndpointDelete(app: App, { tenantOf }: TenantRouteDeps): void {
  app.openapi(endpointDelete, async (c) => {
    const { endpoints } = tenantOf(c)
    const { id } = await endpoints.find(c.req.valid('param').endpoint)
    await endpoints.change(id, ({ write }) => {
      const deletedAt = new Date()
      // The row and its secrets stay: a lease that was taken before may still be sent and signed.
      return write({ status: 'disabled', disabledReason: 'by_request', deletedAt, updatedAt: deletedAt }, () => ({
        status: laneStatus.deleted,
        draining: true,
      }))
    })
    return c.body(null, 204)
  })
}
