import type { App, RouteDeps } from '../../app.ts'
import { registerEventTypeDelete } from './delete.ts'
import { registerEventTypeGet } from './get.ts'
import { registerEventTypeList } from './list.ts'
import { registerEventTypePut } from './put.ts'

export function registerEventTypes(app: App, deps: RouteDeps): void {
  registerEventTypePut(app, deps)
  registerEventTypeGet(app, deps)
  registerEventTypeList(app, deps)
  registerEventTypeDelete(app, deps)
}
