import type { App, RouteDeps } from '../../app.ts'
import { registerHealthz } from './healthz.ts'
import { registerReadyz } from './readyz.ts'

export function registerHealth(app: App, deps: RouteDeps): void {
  registerHealthz(app)
  registerReadyz(app, deps)
}
