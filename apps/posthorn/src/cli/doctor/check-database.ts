import { createVault, keyIdOf, VaultError } from '@posthorn/core'
import { type Pool, readMigrationState } from '@posthorn/core/db'
import { countPartitionedDays, findForeignHead, readServerFacts, type ServerFacts } from '@posthorn/core/sql'
import { type Check, duration, fail, ok, skip, warn } from './check.ts'

const oldest = 14
const newest = 18
/** Receivers take a signature for some five minutes. */
const clockWarnMs = 5_000
const clockFailMs = 60_000
const daysAhead = 14

/** The server's facts, and by how much this process's clock is ahead of its. */
export type Server = { facts: ServerFacts; aheadMs: number; roundTripMs: number }

export async function readServer(pool: Pool): Promise<Server> {
  const askedAt = Date.now()
  const facts = await readServerFacts(pool)
  const answeredAt = Date.now()
  return { facts, aheadMs: (askedAt + answeredAt) / 2 - facts.nowMs, roundTripMs: answeredAt - askedAt }
}

export function checkVersion({ facts }: Server, shown: string): Check {
  const major = Math.floor(facts.versionNumber / 10_000)
  const is = `Postgres ${facts.version} at ${shown}`
  if (major < oldest) return fail('database', is, `Posthorn needs Postgres ${oldest} or newer: upgrade it`)
  if (facts.encoding !== 'UTF8')
    return fail('database', `${is} is ${facts.encoding}`, 'make a database with encoding UTF8')
  if (facts.standby) return fail('database', `${is} is a standby`, 'point POSTHORN_DATABASE_URL at the primary')
  if (major > newest)
    return warn('database', is, `Posthorn is tried on ${oldest} to ${newest}: see the changelog for newer ones`)
  return ok('database', is)
}

export function checkClock({ aheadMs, roundTripMs }: Server): Check {
  return compareClocks('clock', "the database's", aheadMs, roundTripMs / 2)
}

/** @param aheadMs of this process's clock @param blurMs by how much the comparison may be wrong */
export function compareClocks(name: string, whose: string, aheadMs: number, blurMs: number): Check {
  const offMs = Math.max(0, Math.abs(aheadMs) - blurMs)
  const way = aheadMs > 0 ? 'ahead of' : 'behind'
  const is = `this machine's clock is ${duration(offMs / 1_000)} ${way} ${whose}`
  const todo = 'set the clocks (NTP) on both machines: receivers refuse signatures that are minutes old or early'
  if (offMs > clockFailMs) return fail(name, is, todo)
  if (offMs > clockWarnMs) return warn(name, is, todo)
  return ok(name, `this machine's clock and ${whose} agree`)
}

/** @returns null when nothing more can be looked at, for Posthorn is not installed whole */
export async function checkMigrations(pool: Pool): Promise<{ check: Check; installed: boolean }> {
  const state = await readMigrationState(pool)
  const migrate = 'run `posthorn migrate`, or start the API'
  if (state === null) {
    return { check: fail('migrations', 'Posthorn is not installed in this database', migrate), installed: false }
  }
  const { pending, unknown, changed } = state
  if (changed.length > 0) {
    const what = `${list(changed)} was changed after it was applied`
    return { check: fail('migrations', what, 'run the version that applied it, and report this'), installed: true }
  }
  if (pending.length > 0)
    return { check: fail('migrations', `${list(pending)} not applied`, migrate), installed: false }
  if (unknown.length > 0) {
    const what = `${list(unknown)} is not known here: the database is ahead of this version`
    return { check: warn('migrations', what, 'finish the upgrade: start the new version everywhere'), installed: true }
  }
  return { check: ok('migrations', 'all are applied'), installed: true }
}

export async function checkPartitions(pool: Pool): Promise<Check> {
  const days = await countPartitionedDays(pool, daysAhead)
  const todo = 'start a dispatcher, which makes them; `posthorn migrate` does too'
  if (days < 2) return fail('partitions', days === 0 ? 'none for today' : 'none for tomorrow', todo)
  if (days < 7) return warn('partitions', `for no more than ${days} days ahead`, todo)
  return ok('partitions', `there for ${days} days ahead`)
}

export async function checkEncryptionKey(pool: Pool, key: string | null, previous: string | null): Promise<Check> {
  const name = 'encryption key'
  if (key === null) return skip(name, 'POSTHORN_ENCRYPTION_KEY is not set here')
  try {
    const vault = createVault(key, previous)
    const head = await findForeignHead(pool, vault.heads)
    if (head === null) return ok(name, 'opens what is sealed in the database')
    return fail(
      name,
      `secrets are sealed with another key (key id ${keyIdOf(head)}, and this is ${keyIdOf(vault.head)})`,
      'set the POSTHORN_ENCRYPTION_KEY that the database was used with, or give that one as POSTHORN_ENCRYPTION_KEY_PREVIOUS',
    )
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return fail(name, 'is not 32 bytes in base64', 'restore it: without it the sealed secrets are lost')
  }
}

function list(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}
