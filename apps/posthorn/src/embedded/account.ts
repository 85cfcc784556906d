import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { dirname, parse } from 'node:path'
import { promisify } from 'node:util'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** The system user that Postgres runs as. */
export type Account = { uid: number; gid: number }

const candidates = ['posthorn', 'postgres']

/**
 * The user to run Postgres as where we are root, which Postgres refuses; null where we are not: it then runs as we do.
 * A machine without a fitting user gets a system user `posthorn`.
 */
export async function findAccount(): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null
  const found = await lookUp()
  if (found) return found
  const added =
    (await run('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'posthorn'])) ||
    (await run('adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', 'posthorn']))
  const account = added ? await lookUp() : null
  if (account) return account
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and no user "posthorn" could be made: start as another user, or make that one',
  )
}

/** The first folder on the way to `path` (itself included) that the account may not pass, or null. */
export async function impassableFolder(path: string, account: Account | null): Promise<string | null> {
  if (account === null) return null
  for (let folder = path; ; folder = dirname(folder)) {
    const { uid, gid, mode } = await stat(folder)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return folder
    if (folder === parse(folder).root) return null
  }
}

async function lookUp(): Promise<Account | null> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of candidates) {
    const fields = lines.find(([entry]) => entry === name)
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  return null
}

async function run(command: string, args: string[]): Promise<boolean> {
  try {
    await promisify(execFile)(command, args, { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}
