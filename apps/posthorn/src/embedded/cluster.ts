import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, impassableFolder } from './account.ts'
import type { Binaries } from './binaries.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { runPostgres } from './postgres-process.ts'
import { linkFolder, makeSharedFolder, sharedBinaries } from './shared-place.ts'

/** Where the files of one Postgres lie, and how to enter it. `place` holds `data` (PGDATA), `password`, `log`, `port`. */
export type Cluster = {
  place: string
  pgdata: string
  password: string
  binaries: Binaries
  account: Account | null
}

type Make = { dataDir: string; binaries: Binaries; account: Account | null }

/**
 * Opens `<dataDir>/postgres`, and makes it first where there is none. The caller holds the data folder's lock.
 *
 * Invariant: `<dataDir>/postgres` is either absent or whole: it is made under another name and renamed when finished, so
 * that an interrupted first start leaves only a leftover, which the next one removes.
 *
 * @throws EmbeddedPostgresError when it cannot be made, or is another version's.
 */
export async function openCluster({ dataDir, binaries, account }: Make): Promise<Cluster> {
  const linked = join(dataDir, 'postgres')
  await removeLeftovers(dataDir)
  // Ours alone, and its secrets have modes of their own: passable for the server's user, but not listable.
  if (account) await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | 0o111)
  const reachable = (await impassableFolder(binaries.binDir, account)) === null
  const usable = reachable ? binaries : await sharedBinaries(binaries)
  if (!(await exists(linked))) await makeCluster({ dataDir, binaries: usable, account }, linked)

  const place = await realpath(linked)
  const pgdata = join(place, 'data')
  await checkVersion(pgdata, binaries)
  const owner = account ? await ownerOf(pgdata) : null
  const blocked = await impassableFolder(place, owner)
  if (blocked)
    throw new EmbeddedPostgresError(`Postgres, which does not run as root, may not pass the folder ${blocked}`)
  return { place, pgdata, password: await readPassword(place), binaries: usable, account: owner }
}

async function makeCluster({ dataDir, binaries, account }: Make, linked: string): Promise<void> {
  const inside = (await impassableFolder(dataDir, account)) === null
  const draft = inside ? `${linked}.making-${process.pid}` : await makeSharedFolder()
  if (inside) await mkdir(draft)
  // Whatever our umask is.
  await chmod(draft, account ? 0o711 : 0o700)
  await initialize(draft, binaries, account)
  if (inside) await rename(draft, linked)
  else await linkFolder(draft, linked)
}

async function initialize(draft: string, binaries: Binaries, account: Account | null): Promise<void> {
  const pgdata = join(draft, 'data')
  const password = randomBytes(24).toString('base64url')
  const passwordFile = join(draft, 'password')
  await mkdir(pgdata, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account) for (const path of [pgdata, passwordFile]) await chown(path, account.uid, account.gid)
  const program = { binaries, account, folder: draft }
  const args = ['-D', pgdata, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--auth=scram-sha-256']
  const failure =
    (await runPostgres(
      { ...program, program: 'initdb', args: [...args, `--pwfile=${passwordFile}`, '--no-instructions'] },
      '',
      120_000,
    )) ??
    (await runPostgres(
      { ...program, program: 'postgres', args: ['--single', '-D', pgdata, '-c', 'exit_on_error=on', 'postgres'] },
      'create database posthorn\n',
      60_000,
    ))
  if (failure) {
    await rm(draft, { recursive: true, force: true })
    throw new EmbeddedPostgresError(`the embedded Postgres could not be set up: ${failure}`)
  }
  if (account) await chown(passwordFile, 0, 0)
}

async function checkVersion(pgdata: string, binaries: Binaries): Promise<void> {
  const found = (await readFile(join(pgdata, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  if (found === String(binaries.major)) return
  throw new EmbeddedPostgresError(
    found
      ? `the data in ${pgdata} is of Postgres ${found}, and this is Postgres ${binaries.major}: dump it with ${found} and load it, or set POSTHORN_DATA_DIR`
      : `${pgdata} is not a Postgres data folder: it has no PG_VERSION`,
  )
}

async function readPassword(place: string): Promise<string> {
  try {
    return (await readFile(join(place, 'password'), 'utf8')).trim()
  } catch (error) {
    throw new EmbeddedPostgresError(`the password of the embedded Postgres cannot be read: ${(error as Error).message}`)
  }
}

/** Who made the data runs it, also when root starts what another user made. */
async function ownerOf(pgdata: string): Promise<Account> {
  const { uid, gid } = await stat(pgdata)
  if (uid === 0) throw new EmbeddedPostgresError(`${pgdata} belongs to root, and Postgres does not run as root`)
  return { uid, gid }
}

const whileItDies = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }

async function removeLeftovers(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    // The initdb of a start that was just killed may still write there, until it misses what we removed.
    if (name.startsWith('postgres.making-')) await rm(join(dataDir, name), whileItDies)
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
