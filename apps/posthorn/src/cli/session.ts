import type { Posthorn } from '@posthorn/client'
import { typedIn } from '../typed-in.ts'
import { type ApiPlace, findApi } from './api-place.ts'
import type { Output } from './output.ts'

/** Options that every command takes, and those of commands that call the API. */
export type GlobalOptions = { json?: boolean; url?: string; apiKey?: string; dataDir?: string }

/** What a command of the command line is given. */
export type Session = {
  out: Output
  /** The folder where the command was typed. */
  folder: string
  /** Aborted once an end is asked for. */
  stopping: AbortSignal
  stop(): void
  /** The environment, with what the command line says in its place. */
  env: Readonly<Record<string, string | undefined>>
  /** Where the API is, and with which key. @throws UsageError, ConfigError */
  api(): Promise<ApiPlace>
  /** A client of the API. @param retries how often a call is sent again; 2 unless said otherwise */
  posthorn(retries?: number): Promise<Posthorn>
}

export function createSession({ options, out }: { options: GlobalOptions; out: Output }): Session {
  const controller = new AbortController()
  const folder = typedIn()
  let place: Promise<ApiPlace> | undefined

  const env = { ...process.env, ...(options.dataDir === undefined ? {} : { POSTHORN_DATA_DIR: options.dataDir }) }

  const session: Session = {
    out,
    folder,
    stopping: controller.signal,
    stop: () => controller.abort(),
    env,
    api() {
      // Help and faults of usage need no core.
      place ??= import('@posthorn/core').then((core) => findApi(core.parseConnection(env, folder), options))
      return place
    },
    async posthorn(retries = 2) {
      const [{ Posthorn }, { url, apiKey }] = await Promise.all([import('@posthorn/client'), session.api()])
      return new Posthorn({ url, apiKey, retries })
    },
  }
  return session
}
