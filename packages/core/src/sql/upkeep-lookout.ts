import type { Queryable } from '../db/pool.ts'
import { nextDue, type PromoteFrom } from './delivery-promote.ts'
import { lostLease } from './delivery-reclaim.ts'
import { jobKindNames, readyJob } from './job-batch.ts'

/**
 * Whether any of the rarer pieces of upkeep has something to do: one statement in place of six, each of which an idle
 * dispatcher would send again and again. Each part reads the partial index that has nothing but what it looks for.
 *
 * Invariant: `lowest` is read in the snapshot of `lost`. A lease below a mark that was safe before is committed, so it was
 * seen here; so the lesser of mark and lowest is a ticket below which no row is leased, and spares the next look the index's
 * dead entries.
 *   $1 lowest ticket · $2 silent ms · $3 start grace ms · $4 due · $5 settled ms · $6 kinds of jobs
 */
const look = `
select
  exists (select from posthorn.delivery d where d.state = 1 and d.ticket >= $1::bigint and ${lostLease('$2', '$3')}) as "lost",
  (select min(d.ticket) from posthorn.delivery d where d.state = 1 and d.ticket >= $1::bigint) as "lowest",
  (${nextDue('$4', '$5')}) as "dueMs",
  exists (select from posthorn.lane l where l.reordering) as "reordering",
  exists (select from posthorn.lane l where l.draining and l.status >= 2) as "draining",
  exists (select from posthorn.job j where ${readyJob('$6')}) as "job"`

export type LookoutOptions = {
  /** A ticket below which no row is leased. */
  low: bigint
  silentMs: number
  startGraceMs: number
  from: PromoteFrom
}

export type Lookout = {
  /** Some lease is to be taken back. */
  lost: boolean
  /** The lowest ticket among all leases at or above `low`, or null. */
  lowest: bigint | null
  /** Milliseconds until the next scheduled delivery is due (0 when it is), or null when none is scheduled. */
  dueMs: number | null
  reordering: boolean
  draining: boolean
  job: boolean
}

export async function lookOut(db: Queryable, options: LookoutOptions): Promise<Lookout> {
  const { low, silentMs, startGraceMs, from } = options
  const { rows } = await db.query<Omit<Lookout, 'lowest'> & { lowest: string | null }>({
    name: 'look-out',
    text: look,
    values: [low.toString(), silentMs, startGraceMs, from.due, from.settledMs, jobKindNames],
  })
  const { lowest, dueMs, ...seen } = rows[0]!
  return { ...seen, lowest: lowest === null ? null : BigInt(lowest), dueMs: dueMs === null ? null : Math.max(0, dueMs) }
}
