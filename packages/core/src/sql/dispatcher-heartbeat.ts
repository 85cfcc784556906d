import type { Queryable } from '../db/pool.ts'

/**
 * Heartbeat and mark, in one statement.
 *
 * The heartbeat says that the dispatcher still acts on its leases. The mark is for watermarks: `ticket` is the last one
 * drawn, `xid` this transaction's id, which is drawn after the ticket was read, and `xmin` the oldest transaction that still
 * runs. A mark is safe once a later xmin has passed its xid: every ticket up to it was drawn by a transaction that had its
 * id before (all that draw tickets see to that), so it is committed or gone. The update reads the mark, so that it cannot
 * draw the transaction's id before the ticket is read.
 */
const beat = `
with mark as materialized (
  select t.last_value as ticket, pg_current_xact_id()::text as xid,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as at_ms
  from posthorn.ticket t
), beaten as (
  update posthorn.dispatcher d set heartbeat_at = now() from mark where d.id = $1 returning d.id
)
select mark.ticket, mark.xid, mark.at_ms, pg_snapshot_xmin(pg_current_snapshot())::text as xmin, beaten.id is not null as known
from mark left join beaten on true`

const register = `
insert into posthorn.dispatcher (host, pid, version) values ($1, $2, $3) returning id`

// Those that died are forgotten once nothing is leased to them; an hour is far past any reclaim.
const unregister = `delete from posthorn.dispatcher d where d.id = $1 or d.heartbeat_at < now() - interval '1 hour'`

export type Beat = {
  ticket: bigint
  xid: bigint
  xmin: bigint
  /** When the mark was taken, by the database's clock, in milliseconds since 1970. */
  atMs: number
  /** False when the dispatcher's row is gone: it must register again. */
  known: boolean
}

export async function beatDispatcher(db: Queryable, id: number): Promise<Beat> {
  const { rows } = await db.query<{ ticket: string; xid: string; xmin: string; at_ms: number; known: boolean }>({
    name: 'beat',
    text: beat,
    values: [id],
  })
  const row = rows[0]!
  return {
    ticket: BigInt(row.ticket),
    xid: BigInt(row.xid),
    xmin: BigInt(row.xmin),
    atMs: row.at_ms,
    known: row.known,
  }
}

/** @returns the dispatcher's id, under which it leases */
export async function registerDispatcher(db: Queryable, host: string, pid: number, version: string): Promise<number> {
  const { rows } = await db.query<{ id: number }>(register, [host, pid, version])
  return rows[0]!.id
}

export async function unregisterDispatcher(db: Queryable, id: number): Promise<void> {
  await db.query(unregister, [id])
}
