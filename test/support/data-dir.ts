import { readFileSync, realpathSync, rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type DataDir = {
  path: string
  /** Ends the Postgres that a killed process left in it, and removes all. */
  remove(): void
}

/** A new, empty folder that the user of the embedded Postgres may pass, also when the tests run as root. */
export async function createDataDir(): Promise<DataDir> {
  const path = await mkdtemp(join(tmpdir(), 'posthorn-test-'))
  await chmod(path, 0o711)
  return { path, remove: () => removeDataDir(path) }
}

/** A server that is being killed may still write. */
const whileItDies = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }

function removeDataDir(path: string): void {
  const cluster = real(join(path, 'postgres'))
  if (cluster) {
    killServer(cluster)
    rmSync(cluster, whileItDies)
  }
  rmSync(path, whileItDies)
}

function killServer(cluster: string): void {
  try {
    const pid = Number(readFileSync(join(cluster, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    if (realpathSync(`/proc/${pid}/cwd`) === join(cluster, 'data')) process.kill(pid, 'SIGQUIT')
  } catch {
    // No server runs there.
  }
}

function real(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}
