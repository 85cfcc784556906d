import { resolve } from 'node:path'
import type { z } from 'zod'
import { givenIn } from './given.ts'
import { clientSettings } from './settings.ts'

/** What a command needs to find the API of a running Posthorn: null where the environment does not say it. */
export type Connection = {
  readonly url: string | null
  readonly host: string | null
  readonly port: number | null
  readonly apiKey: string | null
  /** Absolute. */
  readonly dataDir: string
}

/**
 * Reads the settings of a command that calls the API. Others are not looked at: a server's wrong setting is the server's.
 * @throws ConfigError with one line about the first setting that is wrong
 */
export function parseConnection(env: Readonly<Record<string, string | undefined>>, folder: string): Connection {
  const set: z.output<typeof clientSettings> = givenIn(env, clientSettings)
  return Object.freeze({
    url: set.POSTHORN_URL ?? null,
    host: set.POSTHORN_HOST ?? null,
    port: set.POSTHORN_PORT ?? null,
    apiKey: set.POSTHORN_API_KEY ?? null,
    dataDir: resolve(folder, set.POSTHORN_DATA_DIR),
  })
}
