import type { Queryable } from '../db/pool.ts'

const selectServer = `
select current_setting('server_version_num')::integer as "versionNumber", current_setting('server_version') as version,
  getdatabaseencoding() as encoding, pg_is_in_recovery() as standby,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`

export type ServerFacts = {
  /** As `server_version_num`: 180004. */
  versionNumber: number
  version: string
  encoding: string
  standby: boolean
  /** Its clock, in milliseconds since 1970. */
  nowMs: number
}

export async function readServerFacts(db: Queryable): Promise<ServerFacts> {
  const { rows } = await db.query<ServerFacts>(selectServer)
  return rows[0]!
}

// Beginning with today, by the database's clock, days in a row that have both partitions.
const selectPartitions = `
select coalesce(min(a.ahead) filter (where
    to_regclass('posthorn_partitions.event_' || to_char(a.day, 'YYYYMMDD')) is null
    or to_regclass('posthorn_partitions.attempt_' || to_char(a.day, 'YYYYMMDD')) is null), $1::integer + 1) as days
from (
  select ahead, (now() at time zone 'UTC')::date + ahead as day from generate_series(0, $1::integer) ahead
) a`

/** How many days from today on, today included, have their partitions, without a gap; at most `maxDays` + 1. */
export async function countPartitionedDays(db: Queryable, maxDays: number): Promise<number> {
  const { rows } = await db.query<{ days: number }>(selectPartitions, [maxDays])
  return rows[0]!.days
}
