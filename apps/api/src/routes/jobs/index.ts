import type { App, RouteDeps } from '../../app.ts'
import { registerJobGet } from './get.ts'
import { registerJobStop } from './stop.ts'

export function registerJobs(app: App, deps: Pick<RouteDeps, 'pool'>): void {
  registerJobGet(app, deps)
  registerJobStop(app, deps)
}
