import { linkSync, rmSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { StartFailure } from '../start-failure.ts'

/** A secret that is made once and kept in a file of the data folder. */
export type KeptValue = { value: string; made: boolean }

/** What the file holds, without white space around it; null where there is none. */
export async function readKept(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new StartFailure(`${path} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Keeps a value in a file, mode 0600, unless there is one: then that one holds. It appears whole or not at all, and is on
 * the disk before anything depends on it. Without a line's end, so that whoever reads the file has the value.
 */
export async function keep(path: string, fresh: string): Promise<KeptValue> {
  const draft = `${path}.${process.pid}`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(fresh)
      await file.sync()
    } finally {
      await file.close()
    }
    linkSync(draft, path)
    return { value: fresh, made: true }
  } catch (error) {
    const kept = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKept(path) : null
    if (kept !== null) return { value: kept, made: false }
    throw new StartFailure(`${path} cannot be written: ${(error as Error).message}`)
  } finally {
    rmSync(draft, { force: true })
  }
}
