import type { App, RouteDeps } from '../../app.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { registerTenantDelete } from './delete.ts'
import { registerTenantGet } from './get.ts'
import { registerTenantList } from './list.ts'
import { registerTenantPut } from './put.ts'

export function registerTenants(app: App, deps: RouteDeps, tenantDeps: TenantRouteDeps): void {
  registerTenantPut(app, tenantDeps)
  registerTenantGet(app, tenantDeps)
  registerTenantDelete(app, tenantDeps)
  registerTenantList(app, deps)
}
