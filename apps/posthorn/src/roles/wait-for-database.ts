import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@posthorn/core'
import { isDatabaseUnavailable, MigrationError, migrate } from '@posthorn/core/db'
import { StartFailure } from '../start-failure.ts'

const retryMs = 500

/** Waiting does not mend these: a wrong user or password, a database that does not exist. */
const lasting = new Set(['28000', '28P01', '3D000'])

export type MigrateWhenUp = {
  url: string
  log: Pick<Log, 'warn'>
  stopping: AbortSignal
  /** How long to wait for a database that is away. Default 30,000. */
  patienceMs?: number
}

/**
 * Migrates, and waits for a database that is away: whoever starts database and Posthorn together need not order them.
 * @returns the names of the migrations applied now
 * @throws StartFailure one line that names POSTHORN_DATABASE_URL, and holds nothing of it but host and port
 */
export async function migrateWhenUp({ url, log, stopping, patienceMs = 30_000 }: MigrateWhenUp): Promise<string[]> {
  const deadline = Date.now() + patienceMs
  for (let told = false; ; told = true) {
    try {
      return await unlessStopped(
        migrate({
          connectionString: url,
          onNewer: (names) => log.warn({ names }, 'the database has migrations of a newer version'),
          onWarning: (message) => log.warn(message),
        }),
        stopping,
      )
    } catch (error) {
      stopping.throwIfAborted()
      const reason = oneLine(error)
      if (error instanceof MigrationError && !isDatabaseUnavailable(error)) {
        throw new StartFailure(`POSTHORN_DATABASE_URL (${placeOf(url)}): ${reason}`)
      }
      if (!isDatabaseUnavailable(error) || lasting.has(codeOf(error)) || Date.now() + retryMs > deadline) {
        throw new StartFailure(`POSTHORN_DATABASE_URL: the database at ${placeOf(url)} cannot be used: ${reason}`)
      }
      if (!told) log.warn({ database: placeOf(url), reason }, 'the database does not answer yet: waiting for it')
      await sleep(retryMs, undefined, { signal: stopping })
    }
  }
}

/** A migration may wait long for another's lock. One that is left alone is rolled back when the process ends. */
function unlessStopped<T>(work: Promise<T>, stopping: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(stopping.reason)
  stopping.addEventListener('abort', onAbort, { once: true })
  return Promise.race([work, aborted]).finally(() => stopping.removeEventListener('abort', onAbort))
}

/** Host and port alone: the rest of the URL may hold secrets. */
function placeOf(url: string): string {
  const { host, searchParams } = new URL(url)
  return searchParams.get('host') ?? (host || 'localhost')
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '')
}

/** A connection that was tried on several addresses fails with one error for each. */
function oneLine(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return (first instanceof Error ? first.message : String(first)).split('\n', 1)[0]!
}
