import type { Launch } from '../role.ts'
import { openVault } from './open-vault.ts'
import { openControlPlane, serveApi } from './serve-api.ts'
import { migrateWhenUp } from './wait-for-database.ts'

/** The API alone, on POSTHORN_DATABASE_URL. */
export async function runApi({ config, lifecycle, log }: Launch): Promise<void> {
  if (config.apiKey === null) {
    log.warn('POSTHORN_API_KEY is not set: only the API keys that are in the database already are taken')
  }
  const databaseUrl = config.databaseUrl!
  await migrateWhenUp({ url: databaseUrl, log, stopping: lifecycle.stopping })
  lifecycle.check()
  const vault = await openVault(config, databaseUrl)
  const prisma = openControlPlane(databaseUrl, lifecycle)
  await serveApi({ config, databaseUrl, vault, prisma, lifecycle, log })
}
