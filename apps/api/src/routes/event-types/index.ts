import type { App } from '../../app.ts'
import type { CatalogueDeps } from './catalogue-deps.ts'
import { registerEventTypeCheck } from './check.ts'
import { registerEventTypeDelete } from './delete.ts'
import { registerEventTypeGet } from './get.ts'
import { registerEventTypeList } from './list.ts'
import { registerEventTypePut } from './put.ts'

export function registerEventTypes(app: App, deps: CatalogueDeps): void {
  registerEventTypePut(app, deps)
  registerEventTypeGet(app, deps)
  registerEventTypeList(app, deps)
  registerEventTypeDelete(app, deps)
  registerEventTypeCheck(app, deps)
}
