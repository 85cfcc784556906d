import { readFileSync, writeFileSync } from 'node:fs'

export type ProcessUsage = {
  /** User and system time since its start, all threads. */
  cpuSeconds: number
  rssMiB: number
  peakRssMiB: number
}

/** What an API and a dispatcher are to stay below. */
export const mostRssMiB = 250

/** The kernel counts in these on every Linux that Node runs on. */
const ticksPerSecond = 100

/** What a process has used, from /proc. Null where there is none, or the process is gone. */
export function readUsage(pid: number): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command may hold blanks and brackets; the fields after it count from the state, the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      rssMiB: Math.round(mib('VmRSS')),
      peakRssMiB: Math.round(mib('VmHWM')),
    }
  } catch {
    return null
  }
}

/** Begins the peak of a process anew. Where that cannot be done, it stays that of its whole life. */
export function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // No /proc, or not ours to write.
  }
}

/** CPU seconds that these processes have used together; those that are gone count nothing. */
export function cpuSecondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readUsage(pid)?.cpuSeconds ?? 0), 0)
}
