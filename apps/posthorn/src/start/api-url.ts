import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '@posthorn/core'
import type { Lifecycle } from '../lifecycle.ts'
import { StartFailure } from '../start-failure.ts'
import { reachable } from './reachable.ts'

/** The file of a data folder in which a `start` that runs says where its API is. */
export const apiUrlFile = 'api-url'

/** Says in the data folder where the API is, as long as it is there: commands that are typed in the same folder find it. */
export function tellApiUrl({ dataDir, host }: Config, port: number, lifecycle: Lifecycle): void {
  const path = join(dataDir, apiUrlFile)
  try {
    writeFileSync(path, `http://${reachable(host)}:${port}\n`)
  } catch (error) {
    throw new StartFailure(`${path} cannot be written: ${(error as Error).message}`)
  }
  lifecycle.onStop('the note of where the API is', async () => rmSync(path, { force: true }))
}
