import type { Pool } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

// Invariant: owed to this endpoint alone, and only while it may be owed to: not disabled, not deleted.
const publishTestEventText = `
select posthorn.publish_test(p.id, p.tenant_id, $3, $4) as "id"
from posthorn.endpoint p
where p.id = $2 and p.tenant_id = $1 and p.deleted_at is null and p.status <> 'disabled'`

/** Publishes an event owed to one endpoint, whatever its filter says. @returns its id; null when the endpoint is closed */
export async function publishTestEvent(
  pool: Pool,
  tenantId: string,
  endpointId: string,
  event: { type: string; payload: Uint8Array },
): Promise<string | null> {
  const values = [tenantId, endpointId, event.type, event.payload]
  const { rows } = await pipelinedTransaction(pool, beginGuarded, (client) =>
    client.query<{ id: string }>({ name: 'publish-test-event', text: publishTestEventText, values }),
  )
  return rows[0]?.id ?? null
}
