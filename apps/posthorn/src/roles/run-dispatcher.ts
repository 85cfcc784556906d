import type { Launch } from '../role.ts'
import { openVault } from './open-vault.ts'
import { serveDispatcher } from './serve-dispatcher.ts'
import { migrateWhenUp } from './wait-for-database.ts'

/** The dispatcher alone, on POSTHORN_DATABASE_URL. */
export async function runDispatcher({ config, lifecycle, log }: Launch): Promise<void> {
  const databaseUrl = config.databaseUrl!
  await migrateWhenUp({ url: databaseUrl, log, stopping: lifecycle.stopping })
  lifecycle.check()
  await openVault(config, databaseUrl)
  await serveDispatcher({ config, databaseUrl, lifecycle, log })
}
