import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isRunning } from '../embedded/process-identity.ts'

const pollMs = 500
const runners = /\b(?:npm|npx|pnpm|pnpx|yarn|corepack)\b/
const shells = /^(?:\S*\/)?(?:sh|dash|bash|zsh|ash|busybox)\b/

type Ancestor = { pid: number; command: string }

/**
 * Calls `onGone` once when the package runner that started us (npx, pnpm and the shells between) is gone: a TERM sent to
 * npx alone reaches nothing below it. Whoever stands above the runners (a terminal, a supervisor) is not watched.
 */
export function watchRunners(onGone: () => void): { stop(): void } {
  const watched = runnersAbove(process.ppid)
  const firstParent = process.ppid
  const timer = setInterval(() => {
    const orphaned = watched.length > 0 && process.ppid !== firstParent
    if (!orphaned && watched.every(isRunning)) return
    clearInterval(timer)
    onGone()
  }, pollMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** The ancestors up to the topmost runner, as far as only runners and shells stand between it and us. */
function runnersAbove(parent: number): number[] {
  const seen: number[] = []
  let upToRunner = 0
  for (let pid = parent; pid > 1 && seen.length < 32; ) {
    const found = lookUp(pid)
    if (found === null) break
    const isRunner = runners.test(found.command)
    if (!isRunner && !shells.test(found.command)) break
    seen.push(pid)
    if (isRunner) upToRunner = seen.length
    pid = found.parent
  }
  return seen.slice(0, upToRunner)
}

function lookUp(pid: number): (Pick<Ancestor, 'command'> & { parent: number }) | null {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      return { parent, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
    }
    if (process.platform === 'win32') return null
    const line = execFileSync('ps', ['-o', 'ppid=,command=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 })
    const match = /^\s*(\d+)\s+(.*)/.exec(line)
    return match === null ? null : { parent: Number(match[1]), command: match[2]! }
  } catch {
    return null
  }
}
