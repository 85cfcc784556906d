import { closeSync, existsSync, openSync, readSync, statSync, truncateSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { spawnPostgres, tellingLine } from './postgres-process.ts'

export type ServerExit = { code: number | null; signal: NodeJS.Signals | null }

export type PostgresServer = {
  pid: number
  port: number
  /** Resolves when the server has ended, for whatever reason. */
  exited: Promise<ServerExit>
  /** Ends it: a fast shutdown (clients are cut off, all is written), and after 30 s an immediate one. Idempotent. */
  stop(): Promise<void>
}

/** What the server has logged is kept for the next start to look at, and no further once it is this long. */
const maxLogBytes = 10_000_000

type Start = { cluster: Cluster; port: number; settings: Record<string, string>; deadlineMs: number }

/** After a crash the backends of the old server may live some ms longer than it, and hold its memory. */
const stillClosing = /pre-existing shared memory block|lock file "postmaster.pid" already exists/

/**
 * Starts Postgres on 127.0.0.1 and returns when it accepts connections: also after a crash, when it first recovers.
 * @throws EmbeddedPostgresError with what it said, when it ends or does not become ready by the deadline.
 */
export async function startServer(start: Start): Promise<PostgresServer> {
  const deadline = Date.now() + start.deadlineMs
  while (true) {
    const result = await tryStart(start, deadline)
    if (typeof result !== 'string') return result
    if (!stillClosing.test(result) || Date.now() > deadline - 1_000) {
      throw new EmbeddedPostgresError(
        `the embedded Postgres did not start: ${tellingLine(result) ?? 'it said nothing'}`,
      )
    }
    await sleep(100)
  }
}

/** One try: the server, or what it said when it ended. */
async function tryStart({ cluster, port, settings }: Start, deadline: number): Promise<PostgresServer | string> {
  const logPath = join(cluster.place, 'log')
  if (existsSync(logPath) && statSync(logPath).size > maxLogBytes) truncateSync(logPath)
  const logFile = openSync(logPath, 'a', 0o600)
  const logStart = statSync(logPath).size
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawnPostgres(
    {
      binaries: cluster.binaries,
      account: cluster.account,
      program: 'postgres',
      args: ['-D', cluster.pgdata, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...options],
      folder: cluster.place,
    },
    ['ignore', logFile, logFile],
  )
  closeSync(logFile)
  let ended: ServerExit | null = null
  const exited = new Promise<ServerExit>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  }).then((exit) => {
    ended = exit
    return exit
  })
  const pid = child.pid
  if (pid === undefined) return `FATAL: ${cluster.binaries.binDir}/postgres cannot be run`
  while (!(await isReady(cluster.pgdata, pid, port))) {
    if (ended) return readFrom(logPath, logStart)
    if (Date.now() > deadline) {
      child.kill('SIGQUIT')
      await exited
      return `${readFrom(logPath, logStart)}\nFATAL: it was not ready in time`
    }
    await sleep(10)
  }
  let stopping: Promise<void> | null = null
  return {
    pid,
    port,
    exited,
    stop: () => {
      stopping ??= endProcess((signal) => child.kill(signal), exited)
      return stopping
    },
  }
}

/**
 * Ends a server by signal: fast, then immediate, then hard, each with its time. On Windows the first already is hard;
 * what was committed is in the log then, too.
 */
export async function endProcess(kill: (signal: NodeJS.Signals) => void, gone: Promise<unknown>): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', 30_000],
    ['SIGQUIT', 10_000],
    ['SIGKILL', 10_000],
  ] as const) {
    kill(signal)
    const timer = new AbortController()
    const late = sleep(patienceMs, 'late', { signal: timer.signal }).catch(() => 'gone')
    const first = await Promise.race([gone.then(() => 'gone'), late])
    timer.abort()
    if (first === 'gone') return
  }
  throw new Error('Postgres does not end')
}

/** What pg_ctl looks at: the server writes its state into the eighth line of its pid file. Then the port must answer. */
async function isReady(pgdata: string, pid: number, port: number): Promise<boolean> {
  const lines = (await readFile(join(pgdata, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready' && (await accepts(port))
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 })
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })
}

function readFrom(path: string, start: number): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(16_384)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, start))
  } finally {
    closeSync(file)
  }
}
