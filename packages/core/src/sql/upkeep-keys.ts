import type { Queryable } from '../db/pool.ts'

const deleteOld = `
with old as materialized (
  select k.tenant_id, k.key from posthorn.idempotency_key k
  where k.created_at < now() - $1::bigint * interval '1 millisecond'
  order by k.created_at
  limit $2
  for update skip locked
)
delete from posthorn.idempotency_key k using old where k.tenant_id = old.tenant_id and k.key = old.key`

/** Forgets idempotency keys older than `keepMs`, at most `limit` a call. @returns how many */
export async function deleteOldKeys(db: Queryable, keepMs: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(deleteOld, [keepMs, limit])
  return rowCount ?? 0
}
