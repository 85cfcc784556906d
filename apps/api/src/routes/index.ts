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
import { createPublishOne, type PublishOne } from './events/publish.ts'
import { registerHealth } from './health/index.ts'
import { registerJobs } from './jobs/index.ts'
import { registerTenants } from './tenants/index.ts'

export type Routes = {
  /** What a publish of one event does, for who asks it without the app. */
  publishOne: PublishOne
  /** To be called once no request is under way. */
  stop(): Promise<void>
}

/** Registers every operation, one file each. */
export function registerRoutes(app: App, deps: RouteDeps): Routes {
  const doorbell = createDoorbell(deps)
  const gatherer = createGatherer({ pool: deps.pool, log: deps.log, doorbell })
  const compiler = createSchemaCompiler()
  const catalogue = createLiveCatalogue({ pool: deps.pool, compiler })
  const checkPublish = createPublishCheck({ catalogue, pool: deps.pool, strict: deps.config.strictEventTypes })
  const publishOne = createPublishOne({ ...deps, gatherer, checkPublish })
  const tenantDeps = toTenantRouteDeps(deps)
  registerTenants(app, deps, tenantDeps)
  registerEndpoints(app, { ...tenantDeps, doorbell })
  registerEndpointTest(app, { ...tenantDeps, doorbell })
  registerEvents(app, { ...tenantDeps, gatherer, checkPublish }, publishOne)
  registerDeliveries(app, { ...tenantDeps, doorbell })
  registerEventTypes(app, { ...deps, catalogue, compiler })
  registerCatalogue(app, { ...deps, catalogue, compiler })
  registerApiKeys(app, deps)
  registerJobs(app, deps)
  registerHealth(app, deps)
  registerDocs(app)
  return {
    publishOne,
    async stop() {
      await gatherer.stop()
      await doorbell.stop()
    },
  }
}
