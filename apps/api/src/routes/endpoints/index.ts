import type { App } from '../../app.ts'
import type { Doorbell } from '../../publish/doorbell.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { registerEndpointCreate } from './create.ts'
import { registerEndpointDelete } from './delete.ts'
import { registerFilterSchema } from './filter.ts'
import { registerEndpointGet } from './get.ts'
import { registerEndpointList } from './list.ts'
import { registerEndpointMatches } from './matches.ts'
import { registerEndpointRecover } from './recover.ts'
import { registerEndpointSecretGet } from './secret-get.ts'
import { registerEndpointSecretRotate } from './secret-rotate.ts'
import { registerEndpointStats } from './stats.ts'
import { registerEndpointUpdate } from './update.ts'

export function registerEndpoints(app: App, deps: TenantRouteDeps & { doorbell: Doorbell }): void {
  registerFilterSchema(app)
  registerEndpointCreate(app, deps)
  registerEndpointList(app, deps)
  registerEndpointGet(app, deps)
  registerEndpointUpdate(app, deps)
  registerEndpointDelete(app, deps)
  registerEndpointSecretGet(app, deps)
  registerEndpointSecretRotate(app, deps)
  registerEndpointStats(app, deps)
  registerEndpointRecover(app, deps)
  registerEndpointMatches(app, deps)
}
