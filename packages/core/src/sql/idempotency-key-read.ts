import type { Queryable } from '../db/pool.ts'

const usedText = `
select exists (select from posthorn.idempotency_key k where k.tenant_id = $1 and k.key = $2) as "used"`

/** Whether a publish with this key was accepted: a second one writes nothing, whatever it holds. */
export async function isIdempotencyKeyUsed(queryable: Queryable, tenantId: string, key: string): Promise<boolean> {
  const { rows } = await queryable.query<{ used: boolean }>({
    name: 'idempotency-key-used',
    text: usedText,
    values: [tenantId, key],
  })
  return rows[0]!.used
}
