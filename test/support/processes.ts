import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished } from 'vitest'
import { within } from './wait.ts'

export type Role = 'api' | 'dispatcher' | 'start' | 'migrate' | 'reencrypt' | 'receiver'

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type SpawnedProcess = {
  pid: number
  /** All that it wrote so far, of stdout and stderr, line by line as it came. */
  output(): string
  /** The first line, past or to come, that matches. Fails at once when the process ends without it. */
  waitForLine(pattern: RegExp, timeoutMs: number): Promise<string>
  signal(signal: NodeJS.Signals): void
  /** Resolves when it has ended and all its output is read. */
  exited: Promise<Exit>
}

export type SpawnOptions = {
  cwd?: string
  nodeArgs?: string[]
  /** In a process group of its own, as a terminal's shell would. */
  ownGroup?: boolean
  /** Ended with the test file, also when started in a test: with tests side by side, whose it is cannot be told. */
  outlivesTest?: boolean
}

const main = fileURLToPath(new URL('../../apps/posthorn/src/main.ts', import.meta.url))
const alive = new Set<SpawnedProcess>()

// What a test file started ends with it, however it ends.
afterAll(async () => {
  await Promise.all([...alive].map(end))
})
process.on('exit', () => {
  for (const child of alive) child.signal('SIGKILL')
})

/** Starts a real Posthorn process in this role. It gets these settings and no other of our environment. */
export function spawnPosthorn(role: Role, env: Record<string, string>, options: SpawnOptions = {}): SpawnedProcess {
  return spawnNode(main, [role], env, options)
}

/**
 * Runs a script under the pinned Node. It is killed when the test that started it ends, or, started outside a test, with
 * the test file.
 */
export function spawnNode(
  script: string,
  args: string[],
  env: Record<string, string>,
  options: SpawnOptions = {},
): SpawnedProcess {
  return spawnCommand(process.execPath, [...(options.nodeArgs ?? []), script, ...args], env, options)
}

/** Runs any command, in the same way. */
export function spawnCommand(
  command: string,
  args: string[],
  env: Record<string, string>,
  { cwd, ownGroup = false, outlivesTest = false }: Omit<SpawnOptions, 'nodeArgs'> = {},
): SpawnedProcess {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    // An open stdin: a process that watches it for its parent's end must not see one.
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: ownGroup,
    ...(cwd ? { cwd } : {}),
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} does not start`)
  const lines: string[] = []
  const listeners = new Set<(line: string) => void>()
  const rest = { stdout: '', stderr: '' }
  const addLine = (line: string): void => {
    lines.push(line)
    for (const listener of listeners) listener(line)
  }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest[name] + text).split('\n')
      rest[name] = parts.pop() ?? ''
      for (const line of parts) addLine(line)
    })
  }
  child.stdin.on('error', () => undefined)
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      for (const line of [rest.stdout, rest.stderr]) if (line) addLine(line)
      resolve({ code, signal })
    })
  })
  const spawned: SpawnedProcess = {
    pid,
    exited,
    output: () => lines.join('\n'),
    signal: (signal) => void child.kill(signal),
    waitForLine: (pattern, timeoutMs) => {
      const found = lines.find((line) => pattern.test(line))
      if (found !== undefined) return Promise.resolve(found)
      let listener: (line: string) => void = () => undefined
      const line = new Promise<string>((resolve, reject) => {
        listener = (latest) => pattern.test(latest) && resolve(latest)
        listeners.add(listener)
        void exited.then((exit) =>
          reject(new Error(`ended (${exit.signal ?? exit.code}) without ${pattern}:\n${lines.slice(-50).join('\n')}`)),
        )
      })
      const what = (): string => `no line ${pattern} from process ${pid}; it wrote:\n${lines.slice(-50).join('\n')}`
      return within(line, timeoutMs, what).finally(() => listeners.delete(listener))
    },
  }
  alive.add(spawned)
  void exited.then(() => alive.delete(spawned))
  if (!outlivesTest) endWithTest(spawned)
  return spawned
}

function endWithTest(child: SpawnedProcess): void {
  try {
    onTestFinished(() => end(child))
  } catch {
    // Started in a hook, for the whole file: afterAll ends it.
  }
}

async function end(child: SpawnedProcess): Promise<void> {
  child.signal('SIGKILL')
  await within(child.exited, 10_000, () => `process ${child.pid} does not end`)
}
