import { createVault } from '@posthorn/core'
import { createPool } from '@posthorn/core/db'
import type { Launch } from '../role.ts'
import { StartFailure } from '../start-failure.ts'
import { reencrypt } from './reencrypt.ts'

/** Seals with POSTHORN_ENCRYPTION_KEY what POSTHORN_ENCRYPTION_KEY_PREVIOUS had sealed, says what was done, and ends. */
export async function runReencrypt({ config, json, lifecycle, log }: Launch): Promise<void> {
  const onError = (error: Error): void => log.warn({ err: error }, 'an idle database connection was lost')
  const pool = createPool({
    connectionString: config.databaseUrl!,
    max: 1,
    applicationName: 'posthorn reencrypt',
    onError,
  })
  lifecycle.onStop('the connection', () => pool.end())
  const vault = createVault(config.encryptionKey!, config.encryptionKeyPrevious)
  const result = await reencrypt({ pool, vault, stopping: lifecycle.stopping })
  const done = `re-encrypted ${result.secrets} secrets and the headers of ${result.headers} endpoints`
  if (result.closed.length > 0) {
    const some = result.closed.slice(0, 10).join(', ')
    throw new StartFailure(
      `${done}; ${result.closed.length} values cannot be opened with these keys, or were changed after they were sealed (endpoints ${some})`,
    )
  }
  const { secrets, headers } = result
  process.stdout.write(
    json ? `${JSON.stringify({ secrets, headers })}\n` : `${done}; nothing is sealed with another key any more\n`,
  )
  lifecycle.stop()
}
