import type { Prisma, PrismaClient } from '@posthorn/core/prisma'
import { notFound } from '../../http/api-problem.ts'
import type { EndpointRow } from './endpoint.ts'

/** Codes of `lane.status`. */
export const laneStatus = { enabled: 0, paused: 1, disabled: 2, deleted: 3 } as const

/**
 * Runs a change of an endpoint in one transaction that holds its lane. Claims lock the same row and read their orders
 * from it, so that after the answer to a pause nothing new is leased.
 *
 * The lane is locked before anything of the endpoint is read or written; who needs both locks takes them in this order.
 * @throws ApiProblem 404 when the endpoint was deleted meanwhile
 */
export function withLane<T>(
  prisma: PrismaClient,
  endpointId: string,
  change: (tx: Prisma.TransactionClient, current: EndpointRow) => Promise<T>,
): Promise<T> {
  return prisma.$transaction(
    async (tx) => {
      await tx.$queryRaw`
        select l.version from posthorn.lane l where l.endpoint_id = ${endpointId}::uuid for no key update`
      const current = await tx.endpoint.findFirst({ where: { id: endpointId, deletedAt: null } })
      if (current === null) throw notFound('endpoint')
      return change(tx, current)
    },
    { isolationLevel: 'ReadCommitted', maxWait: 5_000, timeout: 15_000 },
  )
}
