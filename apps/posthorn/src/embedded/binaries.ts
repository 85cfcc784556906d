import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** A Postgres installation: its `bin` folder, the folder that holds all of it, and its version. */
export type Binaries = { binDir: string; root: string; version: string; major: number }

/**
 * The Postgres of the `@embedded-postgres/<platform>` package for this machine.
 * @throws EmbeddedPostgresError where there is none.
 */
export async function findEmbeddedBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let exported: { postgres: string }
  try {
    exported = (await import(name)) as { postgres: string }
  } catch {
    throw new EmbeddedPostgresError(
      `no embedded Postgres for ${platform}-${process.arch} is installed (${name}): set POSTHORN_DATABASE_URL`,
    )
  }
  return readBinaries(dirname(exported.postgres))
}

/** The Postgres installed in a `bin` folder, asked for its version. */
export async function readBinaries(binDir: string): Promise<Binaries> {
  const { stdout } = await promisify(execFile)(executable(binDir, 'postgres'), ['--version'], { timeout: 10_000 })
  const version = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout)
  if (!version?.[1]) throw new EmbeddedPostgresError(`${binDir}/postgres did not tell its version: ${stdout.trim()}`)
  return { binDir, root: dirname(binDir), version: version[1], major: Number(version[2]) }
}

export function executable(binDir: string, name: 'initdb' | 'postgres'): string {
  return join(binDir, process.platform === 'win32' ? `${name}.exe` : name)
}
