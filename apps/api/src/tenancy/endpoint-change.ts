import { encodeId } from '@posthorn/core'
import type { Prisma } from '@posthorn/core/prisma'
import { type EndpointFilter, setFilter } from './endpoint-filter.ts'
import type { EndpointRow } from './endpoint-store.ts'
import { createSecretStore, type SecretStore } from './secret-store.ts'

export type OperationalEvent = 'endpoint.disabled' | 'endpoint.enabled'

/**
 * One endpoint within a transaction that holds its lane. Claims lock the same row and read their orders from it, so that
 * after the answer to a pause nothing new is leased.
 *
 * The lane is locked before anything of the endpoint is read or written; who needs both locks takes them in this order.
 */
export type EndpointChange = {
  /** As it is, under the lock. */
  current: EndpointRow
  /** Writes endpoint and lane, with a new version of both: what is cached of the endpoint holds no longer. */
  write(
    endpoint: Omit<Prisma.EndpointUpdateInput, 'filter'>,
    lane?: (row: EndpointRow) => Prisma.LaneUpdateInput,
  ): Promise<EndpointRow>
  /** Before `write`, which answers the row as it is then. */
  setFilter(filter: EndpointFilter | null): Promise<void>
  secrets: SecretStore
  /**
   * Publishes an event about the endpoint, as it was written last, to the endpoints of the tenant `posthorn`: with the change, or not at all. Endpoints
   * of that tenant are told of to nobody, for such an event could cause the next.
   * @returns the lanes that have new work, for the doorbell once it is committed
   */
  tell(type: OperationalEvent, reason: string): Promise<string[]>
}

export function createEndpointChange(tx: Prisma.TransactionClient, current: EndpointRow): EndpointChange {
  const { id } = current
  let latest = current
  return {
    current,
    async write(endpoint, lane) {
      const version = current.version + 1
      const data = { updatedAt: new Date(), ...endpoint, version }
      const row = await tx.endpoint.update({ where: { id }, data })
      latest = row
      await tx.lane.update({ where: { endpointId: id }, data: { ...lane?.(row), version } })
      return row
    },
    setFilter: (filter) => setFilter(tx, id, filter),
    secrets: createSecretStore(tx, id),
    async tell(type, reason) {
      const data = { tenant_id: latest.tenantId, endpoint_id: encodeId('ep', id), uid: latest.uid, reason }
      const rows = await tx.$queryRaw<{ lanes: string[] }[]>`
        select posthorn.publish_operational(${type}, ${JSON.stringify(data)}::jsonb)::text[] as "lanes"`
      return rows[0]?.lanes ?? []
    },
  }
}
