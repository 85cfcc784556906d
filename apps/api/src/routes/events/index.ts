import type { App } from '../../app.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { registerEventGet } from './get.ts'
import { registerEventList } from './list.ts'
import { registerEventPayload } from './payload.ts'
import { type PublishDeps, type PublishOne, registerEventPublish } from './publish.ts'
import { registerEventPublishBatch } from './publish-batch.ts'

export function registerEvents(app: App, deps: TenantRouteDeps & PublishDeps, publishOne: PublishOne): void {
  registerEventPublish(app, deps, publishOne)
  registerEventPublishBatch(app, deps)
  registerEventList(app, deps)
  registerEventGet(app, deps)
  registerEventPayload(app, deps)
}
