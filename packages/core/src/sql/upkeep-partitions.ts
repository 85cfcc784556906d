import type { Queryable } from '../db/pool.ts'

// Key of the advisory lock under which one process at a time keeps partitions.
const lock = 7306919

const makePartitions = `select posthorn.make_partitions($1) as made`

/**
 * Partitions whose whole day is past retention, and older than the oldest event still owed: a payload is never dropped
 * under its delivery.
 */
const selectExpired = `
select c.relname as child, p.relname as parent, i.inhdetachpending as pending
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
join pg_class p on p.oid = i.inhparent
join pg_namespace n on n.oid = p.relnamespace
where n.nspname = 'posthorn' and p.relname in ('event', 'attempt')
  and (i.inhdetachpending
    or (c.relname ~ '_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= ((now() - $1::bigint * interval '1 millisecond') at time zone 'UTC')::date
      and to_date(right(c.relname, 8), 'YYYYMMDD') + 1
        <= coalesce((select (posthorn.uuid_time(d.event_id) at time zone 'UTC')::date from posthorn.delivery d order by d.event_id limit 1), 'infinity'::date)))
order by c.relname`

// Just detached, or left by a process that died between the detaching and the drop. `owed`: a redelivery that read the event
// before the detaching, which waited for it, has made it owed again.
const selectDetached = `
with detached as materialized (
  select c.relname as child, to_date(right(c.relname, 8), 'YYYYMMDD') as day
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'posthorn_partitions' and c.relkind = 'r' and c.relname ~ '^(event|attempt)_[0-9]{8}$'
    and not exists (select from pg_inherits i where i.inhrelid = c.oid)
), bounded as materialized (
  select detached.child, detached.day, posthorn.uuid_floor(detached.day::timestamp at time zone 'UTC') as low,
    posthorn.uuid_floor((detached.day + 1)::timestamp at time zone 'UTC') as high
  from detached
  where detached.day + 1 <= ((now() - $1::bigint * interval '1 millisecond') at time zone 'UTC')::date
)
select bounded.child, bounded.low, bounded.high,
  exists (select from posthorn.delivery d where d.event_id >= bounded.low and d.event_id < bounded.high) as owed
from bounded
order by bounded.child`

const name = /^(event|attempt)_\d{8}$/

/** Makes the partitions of the coming days that are not there yet. @returns how many */
export async function makePartitionsAhead(db: Queryable, days: number): Promise<number> {
  const { rows } = await db.query<{ made: number }>(makePartitions, [days])
  return rows[0]!.made
}

/**
 * Drops the partitions past retention, each detached concurrently first, so that no publish waits for it. Runs on a
 * connection of its own, outside any transaction. A detach that a crash or a time-out has left pending is finished.
 *
 * Detaching waits for every transaction that has used the table, and keeps partitions from being made meanwhile: so it is
 * given up after `waitMs`, and tried again another time.
 *
 * @returns the names of the tables dropped; none when another process is at it
 */
export async function dropExpiredPartitions(db: Queryable, retentionMs: number, waitMs = 5_000): Promise<string[]> {
  const held = await db.query<{ got: boolean }>(`select pg_try_advisory_lock($1) as got`, [lock])
  if (!held.rows[0]!.got) return []
  const dropped: string[] = []
  try {
    await db.query(`select set_config('statement_timeout', $1, false)`, [`${waitMs}ms`])
    const expired = await db.query<{ child: string; parent: string; pending: boolean }>(selectExpired, [retentionMs])
    for (const { child, parent, pending } of expired.rows) {
      if (!name.test(child)) continue
      await db.query(
        `alter table posthorn.${parent} detach partition posthorn_partitions.${child} ${pending ? 'finalize' : 'concurrently'}`,
      )
    }
    const detached = await db.query<{ child: string; low: string; high: string; owed: boolean }>(selectDetached, [
      retentionMs,
    ])
    for (const { child, low, high, owed } of detached.rows) {
      const parent = name.exec(child)?.[1]
      if (parent === undefined) continue
      if (owed) {
        await db.query(
          `alter table posthorn.${parent} attach partition posthorn_partitions.${child} for values from ('${low}') to ('${high}')`,
        )
        continue
      }
      await db.query(`drop table posthorn_partitions.${child}`)
      dropped.push(child)
    }
  } finally {
    await db.query(`reset statement_timeout`)
    await db.query(`select pg_advisory_unlock($1)`, [lock])
  }
  return dropped
}
