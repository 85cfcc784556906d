import { encodeId } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'
import type { EndpointRow } from './endpoint.ts'

export type OperationalEvent = 'endpoint.disabled' | 'endpoint.enabled'

/**
 * Publishes an event about an endpoint to the endpoints of the tenant `posthorn`, in the transaction of the change that it
 * tells of. Endpoints of that tenant are told of to nobody: such an event could cause the next.
 * @returns the lanes that have new work, for the doorbell once it is committed
 */
export async function publishOperational(
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  type: OperationalEvent,
  endpoint: Pick<EndpointRow, 'id' | 'tenantId' | 'uid'>,
  reason: string,
): Promise<string[]> {
  const data = { tenant_id: endpoint.tenantId, endpoint_id: encodeId('ep', endpoint.id), uid: endpoint.uid, reason }
  const rows = await tx.$queryRaw<{ lanes: string[] }[]>`
    select posthorn.publish_operational(${type}, ${JSON.stringify(data)}::jsonb)::text[] as "lanes"`
  return rows[0]?.lanes ?? []
}
