import type { Queryable } from '../db/pool.ts'

// The table is what posthorn.publish obeys, so it is what the API obeys too.
const writeMaxPayload = `
insert into posthorn.setting (name, value) values ('max_payload_bytes', $1::integer::text)
on conflict (name) do update set value = excluded.value where posthorn.setting.value <> excluded.value`

const readMaxPayload = `select s.value::integer as bytes from posthorn.setting s where s.name = 'max_payload_bytes'`

/**
 * The largest payload in bytes, the same for the API and for publishing in SQL. A wish is written first: the process that
 * started last decides, so all should be given the same.
 */
export async function agreeOnMaxPayload(db: Queryable, wishedBytes: number | null): Promise<number> {
  if (wishedBytes !== null) await db.query(writeMaxPayload, [wishedBytes])
  const { rows } = await db.query<{ bytes: number }>(readMaxPayload)
  return rows[0]!.bytes
}
