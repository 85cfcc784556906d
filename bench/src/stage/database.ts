import { randomBytes } from 'node:crypto'
import { realpathSync, rmSync } from 'node:fs'
import { chmod, mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '@posthorn/core/db'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../../apps/posthorn/src/embedded/index.ts'
import type { Scope } from './scope.ts'

export type BenchServer = {
  version: string
  /** What bears on the figures: durability, memory, where the data lies. */
  settings: Record<string, string>
  /** One line each: why figures from this server are not what they seem. */
  warnings: string[]
  /** Turns pg_stat_statements on or off. A server that is not ours is left as it is. */
  countStatements(on: boolean): Promise<void>
  /** A new, migrated database, dropped when the scope ends. */
  createDatabase(scope: Scope): Promise<string>
}

const tmpfsMagic = 0x01021994

/** Durability is Postgres's own default, said here so that nobody has to wonder. */
const benchSettings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_preload_libraries: 'pg_stat_statements',
}

/** A server of the bench's own in a temporary folder, or the one that POSTHORN_BENCH_DATABASE_URL names. */
export async function startBenchServer(scope: Scope, givenUrl: string | undefined): Promise<BenchServer> {
  const warnings: string[] = []
  const adminUrl = givenUrl || (await startEmbedded(scope, warnings))
  const rows = await queryOnce<{ name: string; value: string }>(
    adminUrl,
    `select s.name, current_setting(s.name) as value
     from pg_settings s
     where s.name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers',
                      'max_wal_size', 'checkpoint_timeout', 'wal_sync_method')
     order by s.name`,
  )
  const { server_version: version = 'unknown', ...settings } = Object.fromEntries(
    rows.map((row) => [row.name, row.value]),
  )
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    if (settings[name] === 'off') warnings.push(`${name} is off: what is accepted here is not durable`)
  }
  return {
    version: version.split(' ')[0]!,
    settings: { server: givenUrl ? 'POSTHORN_BENCH_DATABASE_URL' : 'embedded', ...settings },
    warnings,
    countStatements: (on) => (givenUrl ? Promise.resolve() : switchStatementCounting(adminUrl, on)),
    async createDatabase(inner) {
      const name = `posthorn_bench_${randomBytes(6).toString('hex')}`
      await queryOnce(adminUrl, `create database ${name} encoding 'UTF8' template template0`)
      inner.add(async () => {
        await queryOnce(adminUrl, `drop database if exists ${name} with (force)`)
      })
      const url = new URL(adminUrl)
      url.pathname = `/${name}`
      await migrate({ connectionString: url.href })
      return url.href
    },
  }
}

async function startEmbedded(scope: Scope, warnings: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-bench-'))
  scope.add(async () => removeFolder(folder))
  // The server's user must be able to pass it, when we are root and it is not.
  await chmod(folder, 0o711)
  const { type } = await statfs(folder)
  if (type === tmpfsMagic)
    warnings.push(`${folder} lies in memory (tmpfs): fsync costs nothing there. Set TMPDIR to a disk`)
  const log = { info: () => undefined, warn: () => undefined }
  const server = await startEmbeddedPostgres({ dataDir: folder, log, settings: benchSettings })
  scope.add(server.stop)
  await switchStatementCounting(server.url, false)
  return server.url
}

/** Counting statements costs some percent: it is on only while somebody reads the counts. */
async function switchStatementCounting(adminUrl: string, on: boolean): Promise<void> {
  await queryOnce(adminUrl, `alter system set pg_stat_statements.track = '${on ? 'top' : 'none'}'`)
  await queryOnce(adminUrl, `alter system set compute_query_id = '${on ? 'on' : 'off'}'`)
  await queryOnce(adminUrl, 'select pg_reload_conf()')
  // Each backend reads it before its next statement, once the signal has reached it.
  await sleep(100)
}

/** The cluster may lie elsewhere, behind a link: see the embedded Postgres. */
function removeFolder(folder: string): void {
  try {
    rmSync(realpathSync(join(folder, 'postgres')), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  } catch {
    // It was never made.
  }
  rmSync(folder, { recursive: true, force: true })
}

async function queryOnce<R extends pg.QueryResultRow>(url: string, sql: string): Promise<R[]> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'posthorn bench',
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<R>(sql)).rows
  } finally {
    await client.end()
  }
}

/** A connection to look at the database with; closed when the scope ends. */
export async function connectObserver(scope: Scope, url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'posthorn bench',
    connectionTimeoutMillis: 10_000,
    statement_timeout: 300_000,
  })
  client.on('error', () => undefined)
  await client.connect()
  scope.add(() => client.end())
  return client
}
