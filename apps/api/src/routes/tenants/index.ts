import type { App, RouteDeps } from '../../app.ts'
import { registerTenantGet } from './get.ts'
import { registerTenantList } from './list.ts'
import { registerTenantPut } from './put.ts'

export function registerTenants(app: App, deps: RouteDeps): void {
  registerTenantPut(app, deps)
  registerTenantGet(app, deps)
  registerTenantList(app, deps)
}
