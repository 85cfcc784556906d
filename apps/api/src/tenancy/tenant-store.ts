import type { Pool } from '@posthorn/core/db'
import type { Prisma, PrismaClient } from '@posthorn/core/prisma'
import {
  type AttemptList,
  type AttemptStatsQuery,
  cancel,
  countEndpointAttempts,
  countRecoverable,
  type DeliveryList,
  type EventList,
  listAttempts,
  listDeliveries,
  listEvents,
  type MatchQuestion,
  matchEvents,
  type Period,
  publishTestEvent,
  type RecoverRange,
  type RecoverRequest,
  readBacklogOf,
  readDelivery,
  readEvent,
  redeliver,
  refusalOf,
  startRecovery,
  startTenantDelete,
} from '@posthorn/core/sql'
import type { Context } from 'hono'
import type { AppEnv, RouteDeps } from '../app.ts'
import { createEndpointStore, type EndpointRow } from './endpoint-store.ts'

type Without<T> = Omit<T, 'tenantId'>

/**
 * All that is stored of one tenant. Routes below `/v1/tenants/{tenant}/` are given this and no connection: what they ask for
 * is looked for among the tenant's own, so that no route can reach another tenant's by forgetting to say whose.
 */
export type TenantStore = ReturnType<typeof createTenantStore>

/** @param keptSince what is older is being deleted, and not shown: see auth/deleted-tenant.ts */
export function createTenantStore(
  { pool, prisma }: { pool: Pool; prisma: PrismaClient },
  tenantId: string,
  keptSince?: Date,
) {
  function kept<T extends Period>(list: T): T {
    return keptSince === undefined || (list.since !== undefined && list.since > keptSince)
      ? list
      : { ...list, since: keptSince }
  }
  return {
    tenantId,
    endpoints: createEndpointStore(prisma, tenantId),
    read: () => prisma.tenant.findUnique({ where: { id: tenantId } }),
    /** Makes the row unless it is there. */
    ensure: () => prisma.tenant.createMany({ data: [{ id: tenantId }], skipDuplicates: true }),
    put: (data: Omit<Prisma.TenantUncheckedCreateInput, 'id'>) =>
      prisma.tenant.upsert({
        where: { id: tenantId },
        create: { ...data, id: tenantId },
        update: { ...data, updatedAt: new Date() },
      }),
    listEvents: (list: Without<EventList>) => listEvents(pool, { ...kept(list), tenantId }),
    readEvent: (eventId: string) => readEvent(pool, tenantId, eventId),
    publishTest: (endpoint: EndpointRow, event: { type: string; payload: Uint8Array }) =>
      publishTestEvent(pool, tenantId, endpoint.id, event),
    listDeliveries: (list: Without<DeliveryList>) => listDeliveries(pool, { ...kept(list), tenantId }),
    readDelivery: (eventId: string, endpointId: string) => readDelivery(pool, tenantId, eventId, endpointId),
    listAttempts: (list: Without<AttemptList>) => listAttempts(pool, { ...list, tenantId }),
    cancel: (eventId: string, endpointId: string) => cancel(pool, tenantId, eventId, endpointId),
    redeliver: (eventId: string, endpointId: string) => redeliver(pool, tenantId, eventId, endpointId),
    countAttempts: ({ id }: EndpointRow, query: Omit<AttemptStatsQuery, 'tenantId' | 'endpointId'>) =>
      countEndpointAttempts(pool, { ...query, tenantId, endpointId: id }),
    recover: (endpointId: string, request: Omit<RecoverRequest, 'tenantId' | 'endpointId'>) =>
      startRecovery(pool, { ...request, tenantId, endpointId }),
    refuseRecovery: (endpointId: string) => refusalOf(pool, tenantId, endpointId),
    countRecoverable: (
      endpointId: string,
      range: Omit<RecoverRange, 'tenantId' | 'endpointId'>,
      limits: { budgetMs: number },
    ) => countRecoverable(pool, { ...range, tenantId, endpointId }, limits),
    /** @returns the job that deletes all that it owns; null when there is no such tenant */
    delete: () => startTenantDelete(pool, tenantId),
    matchEvents: ({ id }: EndpointRow, question: MatchQuestion) =>
      matchEvents(pool, tenantId, id, 'last' in question ? kept(question) : question),
    readBacklog: ({ id }: EndpointRow) => readBacklogOf(pool, id),
  }
}

/** What a route below a tenant is given: no connection, but the store of the tenant that the request was authorised for. */
export type TenantRouteDeps = Omit<RouteDeps, 'pool' | 'prisma'> & {
  tenantOf: (c: Context<AppEnv>) => TenantStore
}

export function toTenantRouteDeps({ pool, prisma, ...deps }: RouteDeps): TenantRouteDeps {
  return {
    ...deps,
    tenantOf(c) {
      const tenantId = c.var.pathTenant
      if (tenantId === undefined) throw new Error('a route below no tenant asks for its store')
      return createTenantStore({ pool, prisma }, tenantId, c.var.keptSince)
    },
  }
}
