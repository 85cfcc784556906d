import type { Launch } from '../role.ts'
import { migrateWhenUp } from './wait-for-database.ts'

/** Brings POSTHORN_DATABASE_URL to the newest migration, says what was applied, and ends. */
export async function runMigrate({ config, json, lifecycle, log }: Launch): Promise<void> {
  const applied = await migrateWhenUp({ url: config.databaseUrl!, log, stopping: lifecycle.stopping })
  if (json) process.stdout.write(`${JSON.stringify({ applied })}\n`)
  else for (const name of applied) process.stdout.write(`applied ${name}\n`)
  if (!json && applied.length === 0) process.stdout.write('nothing to apply: the database is up to date\n')
  lifecycle.stop()
}
