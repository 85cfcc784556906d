import type { Queryable } from '../db/pool.ts'

// A sealed value begins with its version and the id of its key: five bytes.
const selectForeign = `
select v.head from (
  (select substring(s.sealed for 5) as head from posthorn.endpoint_secret s
   where substring(s.sealed for 5) <> all($1::bytea[]) limit 1)
  union all
  (select substring(e.headers_sealed for 5) from posthorn.endpoint e
   where e.headers_sealed is not null and substring(e.headers_sealed for 5) <> all($1::bytea[]) limit 1)
) v limit 1`

/** How a sealed value begins that begins with none of these, or null where there is none: all can be opened. */
export async function findForeignHead(db: Queryable, heads: readonly Buffer[]): Promise<Buffer | null> {
  const { rows } = await db.query<{ head: Buffer }>(selectForeign, [heads])
  return rows[0]?.head ?? null
}

/** Where sealed values lie. */
export type SealedKind = 'secrets' | 'headers'

export type SealedValue = { id: string; endpointId: string; sealed: Buffer }

const selectStale: Record<SealedKind, string> = {
  secrets: `
select s.id, s.endpoint_id as "endpointId", s.sealed from posthorn.endpoint_secret s
where s.id > $1::uuid and substring(s.sealed for 5) <> $2 order by s.id limit $3`,
  headers: `
select e.id, e.id as "endpointId", e.headers_sealed as "sealed" from posthorn.endpoint e
where e.id > $1::uuid and e.headers_sealed is not null and substring(e.headers_sealed for 5) <> $2 order by e.id limit $3`,
}

/** So many values, behind an id, that another key than the one with this head has sealed. */
export async function readStale(
  db: Queryable,
  kind: SealedKind,
  page: { after: string; head: Buffer; limit: number },
): Promise<SealedValue[]> {
  const { rows } = await db.query<SealedValue>(selectStale[kind], [page.after, page.head, page.limit])
  return rows
}

// Puts a value in another's place, only where that one still is.
//
// Invariants
//   - What was changed since it was read stays: the old bytes are compared again under the row's lock.
//   - It waits for nobody: rows that another transaction holds are passed over, so that no deadlock can come of it.
//   - Versions stay: what was sealed is the same, and what a dispatcher has opened of it holds.
const replaceSealed: Record<SealedKind, string> = {
  secrets: `
with mine as materialized (
  select s.id, n.fresh from posthorn.endpoint_secret s
  join unnest($1::uuid[], $2::bytea[], $3::bytea[]) n(id, old, fresh) on n.id = s.id and n.old = s.sealed
  for no key update of s skip locked
)
update posthorn.endpoint_secret s set sealed = m.fresh from mine m where s.id = m.id`,
  headers: `
with mine as materialized (
  select e.id, n.fresh from posthorn.endpoint e
  join unnest($1::uuid[], $2::bytea[], $3::bytea[]) n(id, old, fresh) on n.id = e.id and n.old = e.headers_sealed
  for no key update of e skip locked
)
update posthorn.endpoint e set headers_sealed = m.fresh from mine m where e.id = m.id`,
}

/** @returns how many were replaced */
export async function replaceStale(
  db: Queryable,
  kind: SealedKind,
  values: readonly { id: string; old: Buffer; fresh: Buffer }[],
): Promise<number> {
  const { rowCount } = await db.query(replaceSealed[kind], [
    values.map((each) => each.id),
    values.map((each) => each.old),
    values.map((each) => each.fresh),
  ])
  return rowCount ?? 0
}
