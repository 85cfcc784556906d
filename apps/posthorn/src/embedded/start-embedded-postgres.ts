import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findAccount } from './account.ts'
import { type Binaries, findEmbeddedBinaries } from './binaries.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { embeddedUrl } from './cluster-url.ts'
import { type DataFolderLock, lockDataFolder } from './data-folder-lock.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { freePort, isPortFree } from './free-port.ts'
import { stopOrphan } from './orphan.ts'
import { type PostgresServer, type ServerExit, startServer } from './postgres-server.ts'

export type EmbeddedPostgresOptions = {
  /** The data folder; made if missing. */
  dataDir: string
  log: { info(details: object, message: string): void; warn(details: object, message: string): void }
  /** The port on 127.0.0.1. Default: the one of the last start if it is free, else any. */
  port?: number
  /** Server settings beside our own, as in postgresql.conf. */
  settings?: Record<string, string>
  /** Another Postgres than the embedded one. */
  binaries?: Binaries
  /** How long to wait for a start that still runs or drains in the same folder. Default 10,000. */
  lockWaitMs?: number
}

export type EmbeddedPostgres = {
  /** A connection string for the database `posthorn`, with its owner's password. */
  url: string
  port: number
  /** The server's process. */
  pid: number
  binDir: string
  dataDir: string
  /** Resolves when the server has ended: by `stop`, or because it crashed. */
  exited: Promise<ServerExit>
  /** Stops the server, returns when it is gone, and frees the data folder. Idempotent. Stop all that uses it first. */
  stop(): Promise<void>
}

/**
 * 200 connections cost nothing while unused. A statement that fails is not logged: it would take its payloads along.
 */
const ownSettings = {
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
}

/**
 * Starts the Postgres that Posthorn brings with it, in `<dataDir>/postgres`, and returns when it accepts connections.
 * The first start makes the data and the database `posthorn`. A server left behind by a killed start is stopped first;
 * one whose start still lives is never touched.
 *
 * It runs in a process group of its own, so that Ctrl-C reaches only us: whoever starts it stops it, and last.
 *
 * @throws EmbeddedPostgresError one line: the folder is in use, closed to the server's user or of another version, the
 *   port is taken, or Postgres does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options
  const { dataDir, lock } = await takeDataFolder(options)
  try {
    const binaries = options.binaries ?? (await findEmbeddedBinaries())
    const cluster = await openCluster({ dataDir, binaries, account: await findAccount() })
    const orphan = await stopOrphan(cluster.pgdata)
    if (orphan) log.warn({ pid: orphan, dataDir }, 'stopped the Postgres that a killed posthorn left behind')
    const server = await startOnPort(cluster, options)
    log.info({ pid: server.pid, port: server.port, version: binaries.version }, 'embedded Postgres ready')
    let stopping: Promise<void> | null = null
    return {
      url: embeddedUrl(cluster.password, server.port),
      port: server.port,
      pid: server.pid,
      binDir: cluster.binaries.binDir,
      dataDir,
      exited: server.exited,
      stop: () => {
        // The lock is held until the server is gone: another start waits for it.
        stopping ??= server.stop().finally(lock.release)
        return stopping
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Makes the folder if need be, and locks it. */
async function takeDataFolder(options: EmbeddedPostgresOptions): Promise<{ dataDir: string; lock: DataFolderLock }> {
  try {
    await mkdir(options.dataDir, { recursive: true })
    const dataDir = await realpath(options.dataDir)
    const lock = await lockDataFolder(dataDir, options.lockWaitMs ?? 10_000, ({ pid }) =>
      options.log.info({ pid, dataDir }, 'waiting for another posthorn in this data folder to end'),
    )
    return { dataDir, lock }
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error
    throw new EmbeddedPostgresError(`the data folder ${options.dataDir} cannot be used: ${(error as Error).message}`)
  }
}

async function startOnPort(cluster: Cluster, options: EmbeddedPostgresOptions): Promise<PostgresServer> {
  const portFile = join(cluster.place, 'port')
  const settings = { ...ownSettings, ...options.settings }
  for (let tries = 1; ; tries += 1) {
    const port = options.port ?? (await freePort(await lastPort(portFile)))
    if (options.port !== undefined && !(await isPortFree(port))) {
      throw new EmbeddedPostgresError(`port ${port} of 127.0.0.1 is taken: the embedded Postgres cannot listen on it`)
    }
    try {
      await writeFile(portFile, `${port}\n`)
      return await startServer({ cluster, port, settings, deadlineMs: 120_000 })
    } catch (error) {
      // Somebody took the port between our look and Postgres's.
      const lostRace = options.port === undefined && !(await isPortFree(port))
      if (!lostRace || tries === 3) throw error
    }
  }
}

async function lastPort(portFile: string): Promise<number | null> {
  const port = Number(await readFile(portFile, 'utf8').catch(() => ''))
  return Number.isInteger(port) && port > 1023 && port < 65_536 ? port : null
}
