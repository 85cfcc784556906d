import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

export type Machine = { cores: number; cpu: string; memoryGiB: number; system: string; loadAtStart: number }
export type Versions = { posthorn: string; commit: string; node: string; undici: string }

const require = createRequire(import.meta.url)
const versionOf = (file: string): string => (require(file) as { version: string }).version

/** Read once, before anything is started: the load is others'. */
export function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    loadAtStart: Math.round(loadavg()[0]! * 100) / 100,
  }
}

export function describeVersions(): Versions {
  return {
    posthorn: versionOf('../../package.json'),
    commit: describeCommit(),
    node: process.versions.node,
    undici: versionOf('undici/package.json'),
  }
}

/** With a plus sign when files differ from it. */
function describeCommit(): string {
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd, encoding: 'utf8', timeout: 10_000, stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return git('rev-parse', '--short=10', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') ? '+' : '')
  } catch {
    return 'unknown'
  }
}
