import { type ChildProcess, spawn } from 'node:child_process'
import type { Account } from './account.ts'
import { type Binaries, executable } from './binaries.ts'

type SpawnRequest = {
  binaries: Binaries
  account: Account | null
  program: 'initdb' | 'postgres'
  args: string[]
  /** A folder that the account can be in: Postgres's programs fail in one that they cannot read. */
  folder: string
}

/** Starts one of Postgres's programs as the account, detached: Ctrl-C in our terminal must not reach it. */
export function spawnPostgres(
  { binaries, account, program, args, folder }: SpawnRequest,
  stdio: ['ignore' | 'pipe', 'ignore' | 'pipe' | number, 'pipe' | number],
): ChildProcess {
  return spawn(executable(binaries.binDir, program), args, {
    cwd: folder,
    // None of our environment: PGDATA, PGOPTIONS, LC_* and the like would change what it does.
    env: process.platform === 'win32' ? process.env : { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    detached: true,
    windowsHide: true,
    stdio,
    ...(account ?? {}),
  })
}

/**
 * Runs one to its end, with `input` on its stdin.
 * @returns null when it succeeded, else the last line that it said.
 */
export function runPostgres(request: SpawnRequest, input: string, deadlineMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawnPostgres(request, ['pipe', 'ignore', 'pipe'])
    let said = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8_192)
    })
    // A program that ends before it has read everything closes its stdin under us; its exit tells more.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
    child.once('error', (error) => {
      clearTimeout(timer)
      resolve(`${executable(request.binaries.binDir, request.program)} did not start: ${error.message}`)
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve(code === 0 ? null : (tellingLine(said) ?? `${request.program} ended with ${signal ?? code}`))
    })
  })
}

/** The line of a program's output that tells why it failed: the last error, else the last line. */
export function tellingLine(text: string): string | null {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.findLast((line) => /\b(FATAL|PANIC|ERROR|error):/.test(line)) ?? lines.findLast((line) => line) ?? null
}
