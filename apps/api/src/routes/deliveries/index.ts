import type { App } from '../../app.ts'
import { registerDeliveryAttempts } from './attempts.ts'
import { registerDeliveryCancel } from './cancel.ts'
import { registerEventDeliveries } from './event-deliveries.ts'
import { registerDeliveryGet } from './get.ts'
import { registerDeliveryList } from './list.ts'
import { type DeliveryDeps, registerDeliveryRedeliver } from './redeliver.ts'

export function registerDeliveries(app: App, deps: DeliveryDeps): void {
  registerDeliveryList(app, deps)
  registerEventDeliveries(app, deps)
  registerDeliveryGet(app, deps)
  registerDeliveryAttempts(app, deps)
  registerDeliveryRedeliver(app, deps)
  registerDeliveryCancel(app, deps)
}
