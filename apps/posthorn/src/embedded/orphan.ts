import { execFileSync } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess } from './postgres-server.ts'
import { isRunning } from './process-identity.ts'

/**
 * Stops the server that a killed start left behind, and waits until it is gone. The caller holds the data folder's lock:
 * without it, the server may be a live one's.
 * @returns its pid, or null when there was none.
 */
export async function stopOrphan(pgdata: string): Promise<number | null> {
  const pidFile = join(pgdata, 'postmaster.pid')
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return null
  if (!isServerOf(pid, pgdata)) {
    // The pid went to some other process, and Postgres would take that for a running server.
    await rm(pidFile, { force: true })
    return null
  }
  await endProcess((signal) => signalIfRunning(pid, signal), untilGone(pid))
  return pid
}

/** A server's working folder is its data folder. */
function isServerOf(pid: number, pgdata: string): boolean {
  try {
    if (process.platform === 'linux') return readlinkSync(`/proc/${pid}/cwd`) === pgdata
    if (process.platform === 'win32') return true
    const command = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 })
    return command.includes(pgdata)
  } catch {
    return false
  }
}

function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function untilGone(pid: number): Promise<void> {
  // Bounded: whoever waits for it gives up after the last signal's time.
  for (let waitedMs = 0; waitedMs < 60_000 && isRunning(pid); waitedMs += 20) await sleep(20)
}
