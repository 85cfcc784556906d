import { z } from '@hono/zod-openapi'
import { decodeId } from '@posthorn/core'
import type { PrismaClient } from '@posthorn/core/prisma'
import { notFound } from '../../http/api-problem.ts'
import { endpointParameter, idParameter, tenantParameter } from '../../http/ids.ts'

/** The path of one delivery; `event` is read to its UUID. */
export const deliveryParameters = z.object({
  tenant: tenantParameter,
  event: idParameter('evt', 'event'),
  endpoint: endpointParameter,
})

/**
 * The UUID of the endpoint that a delivery's path names. An id stands for itself: a deleted endpoint's history is still
 * read. A uid is that of a live endpoint.
 * @throws ApiProblem 404
 */
export async function readEndpointId(prisma: PrismaClient, tenantId: string, named: string): Promise<string> {
  const id = decodeId('ep', named)
  if (id !== null) return id
  const where = { tenantId, uid: named, deletedAt: null }
  const row = await prisma.endpoint.findFirst({ where, select: { id: true } })
  if (row === null) throw notFound('delivery')
  return row.id
}
