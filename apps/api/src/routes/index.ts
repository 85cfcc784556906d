import type { App, RouteDeps } from '../app.ts'
import { registerTenantGet } from './tenants/get.ts'

/**
 * Registers every operation, one file each.
 * @returns what to call at stop, once no request is under way
 */
export function registerRoutes(app: App, deps: RouteDeps): () => Promise<void> {
  registerTenantGet(app, deps)
  return async () => {}
}
