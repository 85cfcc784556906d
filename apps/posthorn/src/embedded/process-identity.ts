import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * What tells a process from a later one that got the same pid: its start time (and the machine's boot).
 * Null where the system does not say.
 */
export function processIdentity(pid: number): string | null {
  try {
    if (process.platform === 'linux') {
      const startTicks = statFields(pid)[19]
      return startTicks ? `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${startTicks}` : null
    }
    if (process.platform === 'win32') return null
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 })
    return started.trim() || null
  } catch {
    return null
  }
}

/** True while a process with this pid runs; a zombie has ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, as somebody else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  if (process.platform !== 'linux') return true
  try {
    return statFields(pid)[0] !== 'Z'
  } catch {
    return true
  }
}

/** True while the very process that had this identity runs. When in doubt it does: a live owner must never be robbed. */
export function isSameProcess(pid: number, identity: string | null): boolean {
  if (!isRunning(pid)) return false
  const now = processIdentity(pid)
  return now === null || identity === null || now === identity
}

/** The fields of /proc/<pid>/stat from the state on. The command before it may hold blanks and brackets. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
