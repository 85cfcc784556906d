import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { newApiToken } from '@posthorn/core'
import type pg from 'pg'
import type { Stage } from '../scenario.ts'
import { until, within } from './wait.ts'

/** Of this run of the bench: the databases are its own. */
export const encryptionKey = randomBytes(32).toString('base64')
export const operatorToken = newApiToken()

const main = fileURLToPath(new URL('../../../apps/posthorn/src/main.ts', import.meta.url))

export type PosthornProcess = {
  pid: number
  /** The promise, or an error as soon as the process ends by itself. */
  whileAlive<T>(promise: Promise<T>): Promise<T>
  /** Asks it to end (SIGTERM), as an operator would. Idempotent. */
  stop(): Promise<void>
}

/** Starts the dispatcher of the product in a process of its own, and returns when it has registered itself. */
export async function startDispatcher(
  stage: Stage,
  observer: pg.Client,
  settings: { concurrency?: number },
): Promise<PosthornProcess> {
  const dispatcher = start(stage, 'dispatcher', {
    POSTHORN_ALLOWED_TARGETS: '127.0.0.0/8',
    ...(settings.concurrency !== undefined && { POSTHORN_CONCURRENCY: String(settings.concurrency) }),
  })
  const registered = async (): Promise<boolean> => {
    const { rowCount } = await observer.query('select d.id from posthorn.dispatcher d where d.pid = $1', [
      dispatcher.pid,
    ])
    return (rowCount ?? 0) > 0
  }
  await dispatcher.whileAlive(
    until(registered, { everyMs: 20, timeoutMs: 30_000, what: 'the registration of the dispatcher' }),
  )
  return dispatcher
}

/** Starts the API of the product in a process of its own, and returns when it is ready. */
export async function startApi(stage: Stage): Promise<PosthornProcess & { origin: string }> {
  const port = await freePort()
  const api = start(stage, 'api', { POSTHORN_PORT: String(port), POSTHORN_API_KEY: operatorToken })
  const origin = `http://127.0.0.1:${port}`
  const ready = async (): Promise<boolean> => {
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null)
    await response?.body?.cancel()
    return response?.status === 200
  }
  await api.whileAlive(until(ready, { everyMs: 50, timeoutMs: 30_000, what: 'the API at /readyz' }))
  return { ...api, origin }
}

function start(stage: Stage, role: 'api' | 'dispatcher', settings: Record<string, string>): PosthornProcess {
  if (stage.scope.ended()) throw new Error('the bench ends')
  const nodeArgs =
    stage.profileDir === null
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${stage.profileDir}`, `--cpu-prof-name=${role}.cpuprofile`]
  const child = spawn(process.execPath, [...nodeArgs, main, role], {
    // It gets these settings and no other of our environment.
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      POSTHORN_DATABASE_URL: stage.databaseUrl,
      POSTHORN_ENCRYPTION_KEY: encryptionKey,
      POSTHORN_LOG_LEVEL: 'warn',
      ...settings,
    },
    cwd: tmpdir(),
    // Ctrl-C is ours to answer; and an open stdin, for it may watch it for our end.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  const keep = (text: string): void => {
    output = (output + text).slice(-8_000)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  child.stdin.on('error', () => undefined)
  let stopping = false
  const exited = new Promise<void>((resolve, reject) => {
    const gone = (why: string): void => {
      if (stopping) resolve()
      else reject(new Error(`the ${role} ended by itself (${why}); its last lines:\n${output}`))
    }
    child.once('error', (error) => gone(error.message))
    child.once('close', (code, signal) => gone(String(signal ?? code)))
  })
  // Read by whileAlive and stop; nobody may be listening at the moment it ends.
  exited.catch(() => undefined)
  const stop = stage.scope.add(async () => {
    // Whoever was waiting has been told already.
    if (child.exitCode !== null || child.signalCode !== null) return
    stopping = true
    child.kill('SIGTERM')
    try {
      await within(
        exited.catch(() => undefined),
        45_000,
        `the end of the ${role}`,
      )
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    if (output.trim() !== '') stage.say(`the ${role} said:\n${output.trim()}`)
  })
  return {
    pid: child.pid ?? 0,
    stop,
    whileAlive: (promise) => Promise.race([promise, exited.then(() => new Promise<never>(() => undefined))]),
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
