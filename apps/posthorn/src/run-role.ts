import { type Config, ConfigError, createLog, type Log, parseConfig, type Role } from '@posthorn/core'
import { EmbeddedPostgresError } from './embedded/embedded-postgres-error.ts'
import { boundHeap } from './heap-bounds.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import type { RunRole } from './role.ts'
import { signals } from './signals.ts'
import { StartFailure } from './start-failure.ts'
import { typedIn } from './typed-in.ts'

// Each role loads only what it needs.
const roles: Record<Role, () => Promise<RunRole>> = {
  start: async () => (await import('./start/run-start.ts')).runStart,
  api: async () => (await import('./roles/run-api.ts')).runApi,
  dispatcher: async () => (await import('./roles/run-dispatcher.ts')).runDispatcher,
  migrate: async () => (await import('./roles/run-migrate.ts')).runMigrate,
  reencrypt: async () => (await import('./roles/run-reencrypt.ts')).runReencrypt,
  receiver: async () => (await import('./roles/run-receiver.ts')).runReceiver,
}

/**
 * Runs one role to its end.
 * @param json what it prints for people is printed as JSON, an object a line
 * @returns the exit code: 0 after a clean stop, 1 when it could not start or go on (one line on stderr says why). A second
 *   signal n ends the process at once with 128 + n.
 */
export async function runRole(role: Role, json: boolean): Promise<number> {
  boundHeap()
  const lifecycle = createLifecycle()
  let log: Log | null = null
  handleSignals(lifecycle, () => log)
  let failure: unknown = null
  try {
    const folder = typedIn()
    const config = parseConfig(process.env, { role, folder })
    log = role === 'start' ? await openStartLog(config) : createLog(config.logLevel)
    for (const warning of config.warnings) log.warn(warning)
    const run = await roles[role]()
    await run({ config, folder, json, lifecycle, log })
    await lifecycle.stopped
  } catch (error) {
    // A stop that was asked for interrupts the start by an error of some kind. That is no failure, but of a role that has
    // an end of its own to reach.
    if (!lifecycle.stopping.aborted) failure = error
    else if (role === 'migrate') failure = new StartFailure('stopped before the database was migrated')
    else if (role === 'reencrypt') failure = new StartFailure('stopped before all was re-encrypted: run it again')
  }
  // From now on the first signal ends it at once, as the second would.
  lifecycle.stop()
  const clean = await lifecycle.release(log)
  failure ??= lifecycle.failure()
  if (failure !== null) tell(failure, log, json)
  return failure === null && clean ? 0 : 1
}

function handleSignals(lifecycle: Lifecycle, logNow: () => Log | null): void {
  for (const name of Object.keys(signals) as (keyof typeof signals)[]) {
    process.on(name, () => {
      if (!lifecycle.stopping.aborted) return lifecycle.stop()
      lifecycle.kill()
      process.exit(128 + signals[name])
    })
  }
  process.on('uncaughtException', (error) => {
    const log = logNow() ?? createLog('fatal')
    log.fatal({ err: error }, 'a fault that nothing handled: the process ends')
    lifecycle.kill()
    process.exit(1)
  })
}

async function openStartLog({ logLevel, dataDir }: Config): Promise<Log> {
  const { openQuietLog } = await import('./start/quiet-log.ts')
  return openQuietLog(logLevel, dataDir)
}

function tell(failure: unknown, log: Log | null, json: boolean): void {
  const foreseen =
    failure instanceof ConfigError || failure instanceof EmbeddedPostgresError || failure instanceof StartFailure
  if (foreseen || log === null || log.level === 'silent') {
    const message = failure instanceof Error ? failure.message : String(failure)
    const line = json ? JSON.stringify({ error: { code: 'failed', message, errors: [] } }) : `posthorn: ${message}`
    process.stderr.write(`${line}\n`)
  } else {
    log.fatal({ err: failure }, 'posthorn cannot go on')
  }
}
