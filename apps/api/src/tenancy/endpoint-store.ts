import { decodeId, uuidV7 } from '@posthorn/core'
import type { Prisma, PrismaClient } from '@posthorn/core/prisma'
import { notFound } from '../http/api-problem.ts'
import { createEndpointChange, type EndpointChange } from './endpoint-change.ts'
import { type EndpointFilter, setFilter } from './endpoint-filter.ts'
import { createSecretStore, type SecretStore } from './secret-store.ts'

export type EndpointRow = Prisma.EndpointGetPayload<object>

export type NewEndpoint = {
  endpoint: Omit<Prisma.EndpointUncheckedCreateInput, 'id' | 'tenantId' | 'filter'>
  filter: EndpointFilter | null
  /** Of the lane's columns those that do not follow from the endpoint's. */
  lane: Omit<Prisma.LaneUncheckedCreateInput, 'endpointId' | 'tenantId' | 'version' | 'maxInFlight' | 'timeoutMs'>
}

/** The endpoints of one tenant; no other's can be reached by it, whatever it is asked for. */
export type EndpointStore = {
  /**
   * The endpoint of this id or uid.
   * @throws ApiProblem 404 for an unknown or deleted one, or another tenant's
   */
  find(named: string): Promise<EndpointRow>
  /**
   * The UUID for a delivery's path. An id stands for itself: a deleted endpoint's history is still read, under the tenant's
   * own events. A uid is that of a live endpoint.
   * @throws ApiProblem 404
   */
  idOf(named: string): Promise<string>
  /** Newest first, behind a UUID. */
  list(
    where: Pick<Prisma.EndpointWhereInput, 'createdAt'>,
    after: string | undefined,
    take: number,
  ): Promise<EndpointRow[]>
  /** Makes an endpoint with its lane and secrets, and the tenant when it is new. */
  create(made: NewEndpoint, addSecrets: (secrets: SecretStore) => Promise<void>): Promise<EndpointRow>
  /**
   * Runs a change of an endpoint in one transaction that holds its lane: see endpoint-change.ts.
   * @throws ApiProblem 404 when the endpoint was deleted meanwhile, or is another tenant's
   */
  change<T>(endpointId: string, change: (change: EndpointChange) => Promise<T>): Promise<T>
  /** The secrets of an endpoint that `find` gave. */
  secretsOf(endpoint: EndpointRow): SecretStore
}

const transactionOptions = { isolationLevel: 'ReadCommitted', maxWait: 5_000, timeout: 15_000 } as const

export function createEndpointStore(prisma: PrismaClient, tenantId: string): EndpointStore {
  const own = { tenantId, deletedAt: null } as const

  return {
    async find(named) {
      const id = decodeId('ep', named)
      const row = await prisma.endpoint.findFirst({ where: { ...own, ...(id === null ? { uid: named } : { id }) } })
      if (row === null) throw notFound('endpoint')
      return row
    },
    async idOf(named) {
      const id = decodeId('ep', named)
      if (id !== null) return id
      const row = await prisma.endpoint.findFirst({ where: { ...own, uid: named }, select: { id: true } })
      if (row === null) throw notFound('delivery')
      return row.id
    },
    list({ createdAt }, after, take) {
      const where = {
        ...(createdAt === undefined ? {} : { createdAt }),
        ...(after === undefined ? {} : { id: { lt: after } }),
      }
      return prisma.endpoint.findMany({ where: { ...where, ...own }, orderBy: { id: 'desc' }, take })
    },
    create({ endpoint, filter, lane }, addSecrets) {
      const id = uuidV7()
      return prisma.$transaction(async (tx) => {
        await tx.tenant.createMany({ data: [{ id: tenantId }], skipDuplicates: true })
        const made = await tx.endpoint.create({ data: { ...endpoint, id, tenantId } })
        const { maxInFlight, timeoutMs, version } = made
        await tx.lane.create({ data: { ...lane, endpointId: id, tenantId, version, maxInFlight, timeoutMs } })
        await addSecrets(createSecretStore(tx, id))
        if (filter === null) return made
        await setFilter(tx, id, filter)
        return { ...made, filter: filter.text }
      }, transactionOptions)
    },
    change(endpointId, change) {
      return prisma.$transaction(async (tx) => {
        await tx.$queryRaw`
          select l.version from posthorn.lane l
          where l.endpoint_id = ${endpointId}::uuid and l.tenant_id = ${tenantId} for no key update`
        const current = await tx.endpoint.findFirst({ where: { ...own, id: endpointId } })
        if (current === null) throw notFound('endpoint')
        return change(createEndpointChange(tx, current))
      }, transactionOptions)
    },
    secretsOf: (endpoint) => createSecretStore(prisma, endpoint.id),
  }
}
