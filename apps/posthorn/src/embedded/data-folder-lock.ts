import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { isSameProcess, processIdentity } from './process-identity.ts'

type Owner = { pid: number; identity: string | null }

export type DataFolderLock = { release(): void }

/**
 * Takes `<dataDir>/lock` for this process. Waits up to `waitMs` for an owner that still runs or drains, then refuses.
 * The lock of a dead owner is taken over: whatever server it left behind is then an orphan, and ours to stop.
 *
 * Invariant: the file appears whole (linked, not written in place), and only its owner or, once that owner is dead,
 * whoever moved it aside removes it.
 *
 * @throws EmbeddedPostgresError when the owner outlives the wait.
 */
export async function lockDataFolder(
  dataDir: string,
  waitMs: number,
  waiting: (owner: Owner) => void,
): Promise<DataFolderLock> {
  const path = join(dataDir, 'lock')
  const mine = JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) } satisfies Owner)
  const deadline = Date.now() + waitMs
  let told = false
  while (true) {
    if (linkWhole(path, mine)) return { release: () => removeIf(path, mine) }
    const held = read(path)
    if (held === null) continue
    const owner = parseOwner(held)
    if (owner === null || !isSameProcess(owner.pid, owner.identity)) {
      moveAside(path, held)
      continue
    }
    if (Date.now() >= deadline) {
      throw new EmbeddedPostgresError(
        `the data folder ${dataDir} is in use by process ${owner.pid}: stop that one first, or set POSTHORN_DATA_DIR`,
      )
    }
    if (!told) waiting(owner)
    told = true
    await sleep(50)
  }
}

function linkWhole(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(draft, text, { flag: 'wx', mode: 0o644 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Moves a dead owner's lock away. Two that find it at once: whoever moved a fresh lock by mistake puts it back. */
function moveAside(path: string, stale: string): void {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if (read(aside) !== stale) linkBack(aside, path)
  rmSync(aside, { force: true })
}

function linkBack(aside: string, path: string): void {
  try {
    linkSync(aside, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function removeIf(path: string, mine: string): void {
  if (read(path) === mine) rmSync(path, { force: true })
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function parseOwner(text: string): Owner | null {
  try {
    const { pid, identity } = JSON.parse(text) as Partial<Owner>
    return Number.isInteger(pid) && (pid ?? 0) > 0 ? { pid: pid as number, identity: identity ?? null } : null
  } catch {
    return null
  }
}
