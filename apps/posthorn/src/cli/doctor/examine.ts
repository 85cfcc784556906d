import { createPool, type Pool } from '@posthorn/core/db'
import { readHorizon } from '@posthorn/core/sql'
import type { Session } from '../session.ts'
import { type Check, fail, skip } from './check.ts'
import { checkApi } from './check-api.ts'
import {
  checkClock,
  checkEncryptionKey,
  checkMigrations,
  checkPartitions,
  checkVersion,
  readServer,
} from './check-database.ts'
import { checkDispatchers, checkLanes, checkOldestWork } from './check-queue.ts'
import { checkSettings } from './check-settings.ts'
import { type Database, findDatabase, findEncryptionKey } from './find-database.ts'
import { judgeHorizon } from './judge-horizon.ts'

/** Looks at everything, and changes nothing. Tells of each check when it is there. */
export async function examine(session: Session, tell: (check: Check) => void): Promise<void> {
  const { config, checks } = checkSettings(session.env, session.folder)
  for (const check of checks) tell(check)
  if (config === null) tell(skip('database', 'the settings come first'))
  else {
    const database = await findDatabase(config)
    if (database === null) {
      const todo = 'set POSTHORN_DATABASE_URL, or run this in the folder in which `start` was typed'
      tell(fail('database', `no POSTHORN_DATABASE_URL, and no Postgres in ${config.dataDir}`, todo))
    } else {
      const key = await findEncryptionKey(config)
      await examineDatabase(database, { key, previous: config.encryptionKeyPrevious }, tell)
    }
  }
  for (const check of await checkApi(session)) tell(check)
}

type Keys = { key: string | null; previous: string | null }

async function examineDatabase(database: Database, keys: Keys, tell: (check: Check) => void): Promise<void> {
  const pool = createPool({
    connectionString: database.url,
    max: 1,
    applicationName: 'posthorn doctor',
    statementTimeoutMs: 5_000,
    onError: () => undefined,
  })
  try {
    const server = await readServer(pool).catch((error: Error) => error)
    if (server instanceof Error) return tell(notReachable(database, server))
    tell(checkVersion(server, database.shown))
    tell(checkClock(server))
    const { check, installed } = await checkMigrations(pool)
    tell(check)
    if (installed) await examineQueue(pool, keys, tell)
  } finally {
    await pool.end()
  }
}

async function examineQueue(pool: Pool, { key, previous }: Keys, tell: (check: Check) => void): Promise<void> {
  const looks: [string, () => Promise<Check | Check[]>][] = [
    ['partitions', () => checkPartitions(pool)],
    ['encryption key', () => checkEncryptionKey(pool, key, previous)],
    ['dispatchers', () => checkDispatchers(pool)],
    ['oldest work', () => checkOldestWork(pool)],
    ['lanes', () => checkLanes(pool)],
    ['vacuum horizon', async () => judgeHorizon(await readHorizon(pool))],
  ]
  for (const [name, look] of looks) {
    // One that fails, as for a right that is missing, must not hide the others.
    const found = await look().catch((error: Error) =>
      fail(
        name,
        `could not be read: ${firstLine(error)}`,
        "run the doctor as the database role of Posthorn's processes",
      ),
    )
    for (const check of [found].flat()) tell(check)
  }
}

function notReachable({ shown, embedded }: Database, error: Error): Check {
  const todo = embedded
    ? 'start it: the Postgres of `start` runs as long as `start` does'
    : 'is it up, and are host, user, password and database of POSTHORN_DATABASE_URL right?'
  return fail('database', `${shown} cannot be used: ${firstLine(error)}`, todo)
}

function firstLine(error: Error): string {
  const first = error instanceof AggregateError ? (error.errors[0] as Error) : error
  return first.message.split('\n', 1)[0]!
}
