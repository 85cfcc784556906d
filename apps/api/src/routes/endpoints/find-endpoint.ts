import { decodeId } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'
import { notFound } from '../../http/api-problem.ts'
import type { EndpointRow } from './endpoint.ts'

/**
 * The endpoint that a path names by its id or its uid, within the tenant.
 * @throws ApiProblem 404 for an unknown or deleted one, or another tenant's
 */
export async function findEndpoint(
  db: Pick<Prisma.TransactionClient, 'endpoint'>,
  tenantId: string,
  named: string,
): Promise<EndpointRow> {
  const id = decodeId('ep', named)
  const where = { tenantId, deletedAt: null, ...(id === null ? { uid: named } : { id }) }
  const row = await db.endpoint.findFirst({ where })
  if (row === null) throw notFound('endpoint')
  return row
}
