import type { App, RouteDeps } from '../app.ts'
import { registerApiKeys } from './api-keys/index.ts'
import { registerDocs } from './docs/index.ts'
import { registerEndpoints } from './endpoints/index.ts'
import { registerEventTypes } from './event-types/index.ts'
import { registerHealth } from './health/index.ts'
import { registerTenants } from './tenants/index.ts'

/**
 * Registers every operation, one file each.
 * @returns what to call at stop, once no request is under way
 */
export function registerRoutes(app: App, deps: RouteDeps): () => Promise<void> {
  registerTenants(app, deps)
  registerEndpoints(app, deps)
  registerEventTypes(app, deps)
  registerApiKeys(app, deps)
  registerHealth(app, deps)
  registerDocs(app)
  return async () => {}
}
