import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnNode } from '../support/processes.ts'
import { within } from '../support/wait.ts'

export const operatorToken = 'phk_operator-of-the-tests'

const main = fileURLToPath(new URL('../../apps/posthorn/src/main.ts', import.meta.url))
const deadlineMs = 40_000

export type Ran = { code: number | null; stdout: string; stderr: string }

export type RunOptions = {
  env?: Record<string, string>
  cwd?: string
  /** What stands on stdin. */
  input?: string | Uint8Array
  nodeArgs?: string[]
}

export type Cli = {
  env: Record<string, string>
  /** Runs `posthorn <args>` to its end. stdin is empty unless it is given, and none of the three is a terminal. */
  run(args: string[], options?: RunOptions): Promise<Ran>
  /** The same with --json. @returns the objects that it printed, a line each @throws unless it ends with 0 */
  // biome-ignore lint/suspicious/noExplicitAny: what is asserted is the answer's shape
  json(args: string[], options?: RunOptions): Promise<any[]>
  /** Starts `posthorn <args>`, which goes on until it is ended, or the test file is. */
  start(args: string[], env?: Record<string, string>): SpawnedProcess
}

/** The command line as a user of this API has it. */
export function createCli(env: Record<string, string>): Cli {
  const cli: Cli = {
    env,
    run: (args, options = {}) =>
      runToEnd([...(options.nodeArgs ?? []), main, ...args], { ...options, env: { ...env, ...options.env } }),
    async json(args, options) {
      const { code, stdout, stderr } = await cli.run([...args, '--json'], options)
      if (code !== 0) throw new Error(`posthorn ${args.join(' ')} ended with ${code}: ${stderr}`)
      return objectsOf(stdout)
    },
    start: (args, more = {}) => spawnNode(main, args, { ...env, ...more }, { outlivesTest: true }),
  }
  return cli
}

/** The command line against a cluster's API, as its operator. */
export async function cliOf(cluster: Cluster): Promise<Cli> {
  const line = await cluster.api.waitForLine(/"msg":"api listening"/, 1_000)
  const { port } = JSON.parse(line) as { port: number }
  return createCli({ POSTHORN_URL: `http://127.0.0.1:${port}`, POSTHORN_API_KEY: operatorToken })
}

export function objectsOf(stdout: string): ReturnType<typeof JSON.parse>[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** On a terminal of its own, as a person has it. @returns all that the terminal was sent */
export async function runOnTerminal(args: string[], env: Record<string, string>): Promise<string> {
  const quoted = [process.execPath, main, ...args].map((each) => `'${each}'`).join(' ')
  const ran = await runToEnd(['-qec', quoted, '/dev/null'], { env: { ...env, TERM: 'xterm-256color' } }, 'script')
  return ran.stdout
}

async function runToEnd(args: string[], options: RunOptions, command = process.execPath): Promise<Ran> {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...options.env },
    cwd: options.cwd ?? '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const what = (): string => `${args.slice(1).join(' ')} does not end: ${said.stdout}${said.stderr}`
  try {
    return { code: await within(ended, deadlineMs, what), ...said }
  } finally {
    child.kill('SIGKILL')
  }
}
