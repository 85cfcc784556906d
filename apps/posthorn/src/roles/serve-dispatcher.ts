import type { Config, Log } from '@posthorn/core'
import { type Dispatcher, startDispatcher } from '@posthorn/dispatcher'
import type { Lifecycle } from '../lifecycle.ts'

export type ServeDispatcher = { config: Config; databaseUrl: string; lifecycle: Lifecycle; log: Log }

/** Starts a dispatcher on a migrated database, which the lifecycle stops. */
export async function serveDispatcher({ config, databaseUrl, lifecycle, log }: ServeDispatcher): Promise<Dispatcher> {
  const dispatcher = await startDispatcher({ config, databaseUrl, log })
  lifecycle.onStop('the dispatcher', async () => {
    log.info(dispatcher.busy(), 'dispatcher stopping')
    await dispatcher.stop()
    log.info('dispatcher stopped')
  })
  log.info('dispatcher ready')
  return dispatcher
}
