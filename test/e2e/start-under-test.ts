import { readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { chmod, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { isRunning } from '../../apps/posthorn/src/embedded/process-identity.ts'
import { type Role, type SpawnedProcess, type SpawnOptions, spawnPosthorn } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

export type Started = {
  process: SpawnedProcess
  apiUrl: string
  samplePort: number
  /** Calls the API as its operator. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answered }>
  /** Publishes for the tenant `acme`. @returns the event's id */
  publish(type: string, payload: unknown): Promise<string>
  /** Registers an endpoint of `acme`. */
  register(endpoint: Record<string, unknown>): Promise<string>
  /** Asks for SIGTERM, and waits for the end. @returns the exit code */
  stop(): Promise<number | null>
}

// biome-ignore lint/suspicious/noExplicitAny: what is asserted is the answer's shape
type Answered = any

const readyMs = 60_000

/** A folder in which `start` is typed: its data lies in `.posthorn` there. */
export type Folder = { path: string; dataDir: string }

/** A test with a folder of its own, with which all ends that runs there: also for tests side by side. */
// biome-ignore lint/correctness/noEmptyPattern: what a fixture uses is read from its first parameter
export const test = base.extend('folder', async ({}, { onCleanup }): Promise<Folder> => {
  const path = realpathSync(await mkdtemp(join(tmpdir(), 'posthorn-start-')))
  onCleanup(async () => {
    await eventually(() => killAll(path), 30_000)
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  // The embedded Postgres, which does not run as root, must pass it.
  await chmod(path, 0o711)
  return { path, dataDir: join(path, '.posthorn') }
})

/** Starts all in one in a folder, on free ports, and waits for the banner. */
export async function startIn(
  folder: string,
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): Promise<Started> {
  const process = spawnPosthorn('start', { POSTHORN_PORT: '0', ...env }, { ...inFolder(folder), ...options })
  return started(process, join(folder, '.posthorn'))
}

/** What is started so ends with the folder. */
export function inFolder(path: string): SpawnOptions {
  return { cwd: path, outlivesTest: true }
}

/** Waits for the banner of a process that starts with this data folder. */
export async function started(process: SpawnedProcess, dataDir: string): Promise<Started> {
  const line = await process.waitForLine(/^API http/, readyMs)
  const [, apiUrl = '', samplePort] = /^API (\S+) .*sample receiver http:\/\/127\.0\.0\.1:(\d+)$/.exec(line) ?? []
  await process.waitForLine(/deliveries\?limit=1/, readyMs)
  const token = await readFile(join(dataDir, 'api-key'), 'utf8')

  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answered }> {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }

  async function make(path: string, body: unknown, status: number): Promise<string> {
    const made = await call('POST', path, body)
    if (made.status !== status) throw new Error(`${path}: ${made.status} ${JSON.stringify(made.body)}`)
    return made.body.id
  }

  return {
    process,
    apiUrl,
    samplePort: Number(samplePort),
    call,
    publish: (type, payload) => make('/v1/tenants/acme/events', { type, payload }, 202),
    register: (endpoint) => make('/v1/tenants/acme/endpoints', endpoint, 201),
    async stop() {
      process.signal('SIGTERM')
      return (await process.exited).code
    },
  }
}

/** Runs a command that must refuse, in the folder. @returns all that it wrote */
export async function refusal(folder: Folder, role: Role, env: Record<string, string>): Promise<string> {
  const process = spawnPosthorn(role, env, inFolder(folder.path))
  expect(await process.exited).toEqual({ code: 1, signal: null })
  return process.output()
}

/** Waits until an `acme` delivery of an event is in a state. */
export function delivered(started: Started, event: string, state = 'succeeded'): Promise<Answered> {
  return eventually(async () => {
    const { body } = await started.call('GET', `/v1/tenants/acme/events/${event}/deliveries`)
    return body.data.find((delivery: Answered) => delivery.state === state)
  }, 30_000)
}

/** Every process that has to do with a folder: by its command line, its environment or the folder that it is in. */
export function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      [
        () => readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
        () => readFileSync(`/proc/${pid}/environ`, 'utf8'),
        () => readlinkSync(`/proc/${pid}/cwd`),
      ].some((read) => mentions(read, folder)),
    )
    .map(Number)
    .filter(isRunning)
}

function mentions(read: () => string, text: string): boolean {
  try {
    return read().includes(text)
  } catch {
    // It has ended, or is not ours to look at.
    return false
  }
}

/** @returns true when nothing of the folder runs any more */
function killAll(folder: string): boolean {
  const pids = processesOf(folder)
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  return pids.length === 0
}
