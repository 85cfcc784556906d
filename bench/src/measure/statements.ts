import type pg from 'pg'
import type { Stage } from '../scenario.ts'

export type StatementCount = { query: string; calls: number; totalMs: number; rows: number }

export type StatementCounter = {
  /** Counts from here on. */
  reset(): Promise<void>
  /** Since the last reset, `begin` and `commit` among them, most time first. */
  read(): Promise<StatementCount[]>
}

/**
 * Counts the statements of this run's database until the run ends (pg_stat_statements), at some percent of the database's
 * speed. To be started before what is to be counted: a statement that was prepared earlier is not. Null where the server has
 * no such thing.
 */
export async function startStatementCounter(stage: Stage, observer: pg.Client): Promise<StatementCounter | null> {
  const reset = async (): Promise<void> => {
    await observer.query(
      'select pg_stat_statements_reset(0, (select d.oid from pg_database d where d.datname = current_database()), 0)',
    )
  }
  try {
    stage.scope.add(() => stage.countStatements(false))
    await stage.countStatements(true)
    await observer.query('create extension if not exists pg_stat_statements')
    const { rows } = await observer.query<{ track: string }>(
      `select current_setting('pg_stat_statements.track') as track`,
    )
    if (rows[0]?.track === 'none') return null
    await reset()
  } catch {
    return null
  }
  return { reset, read: () => read(observer) }
}

async function read(observer: pg.Client): Promise<StatementCount[]> {
  const { rows } = await observer.query<{ query: string; calls: string; total_ms: number; rows: string }>(
    `select s.query, s.calls, s.total_exec_time as total_ms, s.rows
     from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = current_database() and s.query not like '%pg_stat_statements%'
     order by s.total_exec_time desc`,
  )
  return rows.map((row) => ({
    calls: Number(row.calls),
    totalMs: row.total_ms,
    rows: Number(row.rows),
    query: row.query.replace(/\s+/g, ' ').trim(),
  }))
}

/** All calls together. */
export function totalCalls(counts: readonly StatementCount[]): number {
  return counts.reduce((sum, { calls }) => sum + calls, 0)
}
