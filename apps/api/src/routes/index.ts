import type { App, RouteDeps } from '../app.ts'
import { createPublishCheck } from '../catalogue/check-publish.ts'
import { createLiveCatalogue } from '../catalogue/live-catalogue.ts'
import { createSchemaCompiler } from '../catalogue/schema/compile.ts'
import { createDoorbell } from '../publish/doorbell.ts'
import { createGatherer } from '../publish/gatherer.ts'
import { toTenantRouteDeps } from '../tenancy/tenant-store.ts'
import { registerApiKeys } from './api-keys/index.ts'
import { registerCatalogue } from './catalogue/index.ts'
import { registerDeliveries } from './deliveries/index.ts'
import { registerDocs } from './docs/index.ts'
import { registerEndpoints } from './endpoints/index.ts'
import { registerEndpointTest } from './endpoints/test.ts'
import { registerEventTypes } from './event-types/index.ts'
import { registerEvents } from './events/index.ts'
import { registerHealth } from './health/index.ts'
import { registerJobs } from './jobs/index.ts'
import { registerTenants } from './tenants/index.ts'

/**
 * Registers every operation, one file each.
 * @returns what to call at stop, once no request is under way
 */
export function registerRoutes(app: App, deps: RouteDeps): () => Promise<void> {
  const doorbell = createDoorbell(deps)
  const gatherer = createGatherer({ pool: deps.pool, log: deps.log, doorbell })
  const compiler = createSchemaCompiler()
  const catalogue = createLiveCatalogue({ pool: deps.pool, compiler })
  const checkPublish = createPublishCheck({ catalogue, pool: deps.pool, strict: deps.config.strictEventTypes })
  const tenantDeps = toTenantRouteDeps(deps)
  registerTenants(app, deps, tenantDeps)
  registerEndpoints(app, { ...tenantDeps, doorbell })
  registerEndpointTest(app, { ...tenantDeps, doorbell })
  registerEvents(app, { ...tenantDeps, gatherer, checkPublish })
  registerDeliveries(app, { ...tenantDeps, doorbell })
  registerEventTypes(app, { ...deps, catalogue, compiler })
  registerCatalogue(app, { ...deps, catalogue, compiler })
  registerApiKeys(app, deps)
  registerJobs(app, deps)
  registerHealth(app, deps)
  registerDocs(app)
  return async () => {
    await gatherer.stop()
    await doorbell.stop()
  }
}
