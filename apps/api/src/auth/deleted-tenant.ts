import { decodeId, tenantIdPattern } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { readDeletedBelow, uuidTime } from '@posthorn/core/sql'
import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app.ts'
import { notFound } from '../http/api-problem.ts'

const eventPath = /^\/v1\/tenants\/[^/]+\/events\/([^/]+)/

/**
 * Hides what a deleted tenant has left until a job has cleared it away: events of a new tenant of the same name are those from
 * `keptSince` on. Costs one look at an index that is empty but while tenants are being deleted; publishing is spared it.
 */
export function createDeletedTenantGuard(pool: Pool): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { pathTenant } = c.var
    const event = eventPath.exec(c.req.path)?.[1]
    const reads = c.req.method === 'GET' || (event !== undefined && event !== 'batch')
    // What no tenant can be called is refused by the route, in its own words.
    if (pathTenant === undefined || !tenantIdPattern.test(pathTenant) || !reads) return next()
    const below = await readDeletedBelow(pool, pathTenant)
    if (below !== null) {
      const id = event === undefined ? null : decodeId('evt', event)
      if (id !== null && id < below) throw notFound('event')
      c.set('keptSince', uuidTime(below))
    }
    await next()
  }
}
