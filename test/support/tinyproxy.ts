import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventually } from './wait.ts'

/** Where the program is; null where it is not installed (apt: tinyproxy-bin). */
export function findTinyproxy(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, 'tinyproxy')).find((path) => existsSync(path)) ?? null
}

export type Tinyproxy = {
  port: number
  /** All that it wrote. */
  log(): string
}

/** A real HTTP proxy on 127.0.0.1, which takes these lines of configuration besides. Ended with the test. */
export async function startTinyproxy(program: string, lines: string[] = []): Promise<Tinyproxy> {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-tinyproxy-'))
  const port = await freePort()
  const [config, log] = [join(folder, 'config'), join(folder, 'log')]
  const fixed = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Allow 127.0.0.1',
    'Timeout 30',
    `LogFile "${log}"`,
    'LogLevel Info',
  ]
  writeFileSync(config, `${[...fixed, ...lines].join('\n')}\n`)
  const child = spawn(program, ['-d', '-c', config], { stdio: 'ignore' })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  })
  const read = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '')
  await eventually(() => /accepting connections/i.test(read()), 10_000)
  return { port, log: read }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
