import { readFileSync } from 'node:fs'
import { migrate } from '@posthorn/core/db'
import { readBinaries, startEmbeddedPostgres } from '../../apps/posthorn/src/embedded/index.ts'
import { isRunning } from '../../apps/posthorn/src/embedded/process-identity.ts'
import { createDataDir } from './data-dir.ts'
import { eventually } from './wait.ts'

/** Debian's Postgres 15: the older version that the SQL is tested on. */
const debian15 = '/usr/lib/postgresql/15/bin'

export type TestServerOptions = {
  /** Default: the embedded one. */
  bin?: '15' | 'embedded'
  /** False only where no test kills the server. Default true. */
  fsync?: boolean
  /** Default true: the database `posthorn` is migrated. */
  migrated?: boolean
  settings?: Record<string, string>
}

export type TestServer = {
  /** The database `posthorn`, as superuser. Stays the same over restarts. */
  url: string
  port: number
  /** The postmaster's pid; changes with each restart. */
  pid(): number
  /** Kills the server and all its backends by SIGKILL; returns when they are gone. */
  kill9(): Promise<void>
  /** Starts it again, after `kill9` or by stopping it first; returns when it is ready. */
  restart(): Promise<void>
  /** Stops it and removes its data. Idempotent. */
  stop(): Promise<void>
}

const quiet = { info: () => undefined, warn: () => undefined }

/** A Postgres of the test's own, on a port that stays, which it may kill. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = await createDataDir()
  const settings: Record<string, string> = { max_connections: '300', ...options.settings }
  if (options.fsync === false) Object.assign(settings, { fsync: 'off', full_page_writes: 'off' })
  const start = {
    dataDir: dataDir.path,
    log: quiet,
    settings,
    ...(options.bin === '15' ? { binaries: await readBinaries(debian15) } : {}),
  }
  let server = await startEmbeddedPostgres(start).catch((error: unknown) => {
    dataDir.remove()
    throw error
  })
  const { url, port } = server
  // A run that is cut off leaves nothing behind.
  process.once('exit', dataDir.remove)
  let stopping: Promise<void> | null = null

  const testServer: TestServer = {
    url,
    port,
    pid: () => server.pid,
    kill9: async () => {
      const pids = [server.pid, ...childrenOf(server.pid)]
      for (const pid of pids) killIfRunning(pid)
      await server.exited
      await eventually(() => pids.every((pid) => !isRunning(pid)), 10_000)
    },
    restart: async () => {
      await server.stop()
      server = await startEmbeddedPostgres({ ...start, port })
    },
    stop: () => {
      stopping ??= server.stop().finally(() => {
        process.removeListener('exit', dataDir.remove)
        dataDir.remove()
      })
      return stopping
    },
  }
  if (options.migrated !== false) {
    await migrate({ connectionString: url }).catch(async (error: unknown) => {
      await testServer.stop()
      throw error
    })
  }
  return testServer
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
