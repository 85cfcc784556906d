import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/*
 * Official libraries of other languages, each in a small program. They are installed by `pnpm verifiers` where the language's
 * tools are at hand, and used by test/e2e/verifiers.test.ts where they are installed.
 */
const run = promisify(execFile)
const sources = fileURLToPath(new URL('.', import.meta.url))
const installed = fileURLToPath(new URL('../../node_modules/.cache/posthorn-verifiers/', import.meta.url))
const installMs = 300_000

export type Verifier = {
  language: string
  /** Knows v1a. */
  v1a: boolean
  /** Null where it is not installed. */
  command(): { file: string; args: string[] } | null
  /** @throws Error with the reason when it cannot be */
  install(): Promise<void>
}

async function execute(file: string, args: string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
  const env = { ...process.env, ...options.env }
  await run(file, args, { ...options, env, timeout: installMs, maxBuffer: 64 * 1024 * 1024 })
}

function ifThere(file: string, args: string[] = []): { file: string; args: string[] } | null {
  return existsSync(file) ? { file, args } : null
}

const python: Verifier = {
  language: 'python',
  v1a: true,
  command: () => ifThere(join(installed, 'python/ready/bin/python'), [join(sources, 'python/verify.py')]),
  async install() {
    const [fresh, ready] = [join(installed, 'python/venv'), join(installed, 'python/ready')]
    await mkdir(join(installed, 'python'), { recursive: true })
    await execute('python3', ['-m', 'venv', fresh])
    await execute(join(fresh, 'bin/python'), [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['-r', join(sources, 'python/requirements.txt')],
    ])
    // There only once all of it is.
    await cp(fresh, ready, { recursive: true, verbatimSymlinks: true })
  },
}

const go: Verifier = {
  language: 'go',
  v1a: true,
  command: () => ifThere(join(installed, 'go/verify')),
  async install() {
    await mkdir(join(installed, 'go'), { recursive: true })
    const env = { GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' }
    await execute('go', ['build', '-o', join(installed, 'go/verify'), '.'], { cwd: join(sources, 'go'), env })
  },
}

const rust: Verifier = {
  language: 'rust',
  v1a: false,
  command: () => ifThere(join(installed, 'rust/debug/verify')),
  async install() {
    const env = { CARGO_TARGET_DIR: join(installed, 'rust') }
    await execute('cargo', ['build', '--locked', '--quiet'], { cwd: join(sources, 'rust'), env })
  },
}

export const verifiers: readonly Verifier[] = [python, go, rust]
