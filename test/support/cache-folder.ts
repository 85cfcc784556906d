import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder that later runs take as it is: for what a test needs of a registry and is not of this workspace.
 * @param of what it is made from, by which it is known again
 * @param make fills a new, empty folder
 */
export async function cacheFolder(
  name: string,
  of: string,
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const caches = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'posthorn-test')
  const folder = join(caches, `${name}-${createHash('sha256').update(of).digest('hex').slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const making = `${folder}.${process.pid}`
  try {
    await mkdir(making, { recursive: true })
    await make(making)
    // Another run may have been faster: what it made is the same.
    await rename(making, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
    return folder
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}
