import type { App, RouteDeps } from '../../app.ts'
import { registerApiKeyCreate } from './create.ts'
import { registerApiKeyList } from './list.ts'
import { registerApiKeyRevoke } from './revoke.ts'

export function registerApiKeys(app: App, deps: RouteDeps): void {
  registerApiKeyCreate(app, deps)
  registerApiKeyList(app, deps)
  registerApiKeyRevoke(app, deps)
}
