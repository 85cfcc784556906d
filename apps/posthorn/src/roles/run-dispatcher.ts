import type { Launch } from '../role.ts'
import { openVault } from './open-vault.ts'
import { serveDispatcher } from './serve-dispatcher.ts'
import { serveHealth } from './serve-health.ts'
import { migrateWhenUp } from './wait-for-database.ts'

/** The dispatcher alone, on POSTHORN_DATABASE_URL. */
export async function runDispatcher({ config, lifecycle, log }: Launch): Promise<void> {
  const databaseUrl = config.databaseUrl!
  let reasons = (): string[] => ['it is starting']
  await serveHealth({ config, reasons: () => reasons(), lifecycle, log })
  await migrateWhenUp({ url: databaseUrl, log, stopping: lifecycle.stopping })
  lifecycle.check()
  await openVault(config, databaseUrl)
  const dispatcher = await serveDispatcher({ config, databaseUrl, lifecycle, log })
  reasons = () => (dispatcher.alive() ? [] : ['no heartbeat was answered in time'])
}
