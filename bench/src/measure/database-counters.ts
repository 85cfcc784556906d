import type pg from 'pg'

export type DatabaseCounters = { commits: number; walBytes: number; fullPageImages: number }

/**
 * What the server has counted so far. Backends report their commits with a delay, at the latest when they end: exact are
 * differences between moments at which no other is connected.
 */
export async function readCounters(client: pg.Client): Promise<DatabaseCounters> {
  const { rows } = await client.query<{ commits: string; wal_bytes: string; images: string }>(
    `select d.xact_commit as commits, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal_bytes,
            (select w.wal_fpi from pg_stat_wal w) as images
     from pg_stat_database d where d.datname = current_database()`,
  )
  const row = rows[0]!
  return { commits: Number(row.commits), walBytes: Number(row.wal_bytes), fullPageImages: Number(row.images) }
}

/** Pids of the server's processes that serve a dispatcher. */
export async function dispatcherBackends(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `select a.pid from pg_stat_activity a
     where a.datname = current_database() and a.application_name like 'posthorn dispatcher%'`,
  )
  return rows.map((row) => row.pid)
}
