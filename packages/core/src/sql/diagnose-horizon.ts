import type { Queryable } from '../db/pool.ts'

// What keeps vacuum from removing dead rows: the oldest of each kind. Of the sessions of other roles one sees no more than that
// they are there, unless one may read all statistics.
const selectHorizon = `
(select 'session' as kind, a.pid::text as name, coalesce(a.application_name, '') as program, coalesce(a.state, '') as state,
   greatest(age(a.backend_xmin), age(a.backend_xid))::integer as xids, extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds
 from pg_stat_activity a
 where a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.backend_xid is not null) and a.xact_start is not null
   and (a.datid is null or a.datid = (select d.oid from pg_database d where d.datname = current_database()))
 order by a.xact_start limit 1)
union all
(select 'prepared', p.gid, '', '', age(p.transaction)::integer, extract(epoch from clock_timestamp() - p.prepared)::float8
 from pg_prepared_xacts p where p.database = current_database()
 order by p.prepared limit 1)
union all
(select 'slot', s.slot_name::text, coalesce(s.plugin::text, ''), case when s.active then 'active' else 'inactive' end,
   greatest(age(s.xmin), age(s.catalog_xmin))::integer, null::float8
 from pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null
 order by 5 desc limit 1)`

export type HorizonHolder = {
  kind: 'session' | 'prepared' | 'slot'
  /** The process, the transaction's name, or the slot's. */
  name: string
  program: string
  state: string
  /** How many transactions lie behind its horizon. */
  xids: number
  /** How long its transaction runs. Null for a slot. */
  seconds: number | null
}

export type Horizon = { holders: HorizonHolder[]; seesAll: boolean }

/** What holds the vacuum horizon back, the oldest of each kind, and whether all sessions could be seen. */
export async function readHorizon(db: Queryable): Promise<Horizon> {
  const { rows } = await db.query<HorizonHolder>(selectHorizon)
  const may = await db.query<{ all: boolean }>(`select pg_has_role(current_user, 'pg_read_all_stats', 'usage') as all`)
  return { holders: rows, seesAll: may.rows[0]!.all }
}
