import type { Queryable } from '../db/pool.ts'

const selectDispatchers = `
select d.host, d.pid, d.version, extract(epoch from now() - d.heartbeat_at)::float8 as "silentSeconds"
from posthorn.dispatcher d order by d.heartbeat_at desc limit 1000`

export type DispatcherRow = { host: string; pid: number; version: string; silentSeconds: number }

/** Those that run, and those that died within the last hour or so; the most lively first. */
export async function readDispatchers(db: Queryable): Promise<DispatcherRow[]> {
  const { rows } = await db.query<DispatcherRow>(selectDispatchers)
  return rows
}

const selectBlocked = `
select l.tenant_id as "tenantId", l.endpoint_id as "endpointId", l.failures_in_a_row as "failuresInARow",
  l.blocked_until as "blockedUntil", count(*) over ()::integer as total
from posthorn.lane l
where l.status = 0 and l.blocked_until > now()
order by l.failures_in_a_row desc, l.endpoint_id limit $1`

export type BlockedLane = { tenantId: string; endpointId: string; failuresInARow: number; blockedUntil: Date }

/** Lanes of enabled endpoints that wait before the next attempt: how many, and those with most failures in a row. */
export async function readBlockedLanes(db: Queryable, limit: number): Promise<{ total: number; worst: BlockedLane[] }> {
  const { rows } = await db.query<BlockedLane & { total: number }>(selectBlocked, [limit])
  return { total: rows[0]?.total ?? 0, worst: rows.map(({ total: _total, ...lane }) => lane) }
}
