import { chmod, cp, mkdir, mkdtemp, rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/*
 * Root's own folders (/root, or a 0700 folder under /tmp) are closed to the user that Postgres runs as. What it needs then
 * lies here: a copy of the binaries, and the data, with a link to it in the data folder.
 */
const sharedRoot = '/var/lib/posthorn'

/** The binaries, copied once to where every user can run them. */
export async function sharedBinaries(binaries: Binaries): Promise<Binaries> {
  await makeRoot()
  const root = join(sharedRoot, `postgres-${binaries.version}`)
  const found = await stat(root).catch(() => null)
  if (!found) {
    const draft = `${root}.${process.pid}`
    await cp(binaries.root, draft, { recursive: true, verbatimSymlinks: true })
    await chmod(draft, 0o755)
    // Somebody else may have been quicker: theirs is as good.
    await rename(draft, root).catch(() => rm(draft, { recursive: true, force: true }))
  }
  return { ...binaries, root, binDir: join(root, 'bin') }
}

/** A new folder for one cluster. */
export async function makeSharedFolder(): Promise<string> {
  await makeRoot()
  return mkdtemp(join(sharedRoot, 'data-'))
}

/** Makes `linked` point to the folder, all at once. */
export async function linkFolder(folder: string, linked: string): Promise<void> {
  await symlink(folder, linked)
}

async function makeRoot(): Promise<void> {
  try {
    await mkdir(sharedRoot, { recursive: true })
    await chmod(sharedRoot, 0o711)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Postgres does not run as root and may not enter root's folders, and ${sharedRoot} cannot be made: ${(error as Error).message}`,
    )
  }
}
