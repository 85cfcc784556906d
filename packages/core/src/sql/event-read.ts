import type { Pool } from '../db/pool.ts'
import { before, idBounds, lower, type Period } from './event-bounds.ts'
import { type EventRow, walkEvents } from './event-walk.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

// Reads one event of one tenant: another tenant's is not there.
const readEventText = `
select e.id as "id", e.tenant_id as "tenantId", e.type as "type", e.channels as "channels",
       e.ordering_key as "orderingKey", e.deliver_at as "deliverAt", e.deliveries as "deliveries", e.payload as "payload"
from posthorn.event e where e.id = $2 and e.tenant_id = $1`

/** An event with its payload's bytes as published; null when the tenant has none of this id. */
export function readEvent(
  pool: Pool,
  tenantId: string,
  eventId: string,
): Promise<(EventRow & { payload: Buffer }) | null> {
  return pipelinedTransaction(pool, beginGuarded, async (client) => {
    const { rows } = await client.query<EventRow & { payload: Buffer }>({
      name: 'event-read',
      text: readEventText,
      values: [tenantId, eventId],
    })
    return rows[0] ?? null
  })
}

/** Events looked at for one page at most: a rare type gives short pages instead of slow ones. */
const maxExamined = 5_000
const examinedAtOnce = 1_000

export type EventList = Period & {
  tenantId: string
  type?: string | undefined
  /** Goes on behind this id. */
  after?: string | undefined
  limit: number
}

/** A page, newest first. `next` is the id to go on behind, null at the end; a page may be short and yet not the last. */
export async function listEvents(pool: Pool, list: EventList): Promise<{ rows: EventRow[]; next: string | null }> {
  const { tenantId, type, after, limit } = list
  const { low, high: top } = idBounds(list)
  const rows: EventRow[] = []
  let high = after === undefined ? top : lower(top, before(after))
  for (let examined = 0; examined < maxExamined; ) {
    const most = type === undefined ? limit + 1 : examinedAtOnce
    const walked = await walkEvents(pool, tenantId, { low, high, limit: most })
    for (const row of walked) if (type === undefined || row.type === type) rows.push(row)
    if (rows.length > limit) {
      const page = rows.slice(0, limit)
      return { rows: page, next: page.at(-1)!.id }
    }
    const last = walked.at(-1)
    if (last === undefined || walked.length < most) return { rows, next: null }
    examined += walked.length
    high = before(last.id)
    if (examined >= maxExamined) return { rows, next: last.id }
  }
  throw new Error('not reached')
}
