import type { Queryable } from '../db/pool.ts'
import { before, idBounds, lower, type Period } from './event-bounds.ts'

export type EventRow = {
  id: string
  tenantId: string
  type: string
  channels: string[] | null
  orderingKey: string | null
  deliverAt: Date | null
  deliveries: number
}

// Reads one event of one tenant: another tenant's is not there.
const readEventText = `
select e.id as "id", e.tenant_id as "tenantId", e.type as "type", e.channels as "channels",
       e.ordering_key as "orderingKey", e.deliver_at as "deliverAt", e.deliveries as "deliveries", e.payload as "payload"
from posthorn.event e where e.id = $2 and e.tenant_id = $1`

/** An event with its payload's bytes as published; null when the tenant has none of this id. */
export async function readEvent(
  queryable: Queryable,
  tenantId: string,
  eventId: string,
): Promise<(EventRow & { payload: Buffer }) | null> {
  const { rows } = await queryable.query<EventRow & { payload: Buffer }>({
    name: 'event-read',
    text: readEventText,
    values: [tenantId, eventId],
  })
  return rows[0] ?? null
}

const readPayloadText = `select e.payload as "payload" from posthorn.event e where e.id = $2 and e.tenant_id = $1`

/** The payload's bytes as published; null when the tenant has no such event. */
export async function readPayload(queryable: Queryable, tenantId: string, eventId: string): Promise<Buffer | null> {
  const { rows } = await queryable.query<{ payload: Buffer }>({
    name: 'event-payload-read',
    text: readPayloadText,
    values: [tenantId, eventId],
  })
  return rows[0]?.payload ?? null
}

// Walks the tenant's own index (tenant_id, id) from the top, so many events and no more, whatever the filter leaves of
// them. `seen` says how far it came, also when nothing matched.
const listEventsText = `
with seen as materialized (
  select e.id, e.tenant_id, e.type, e.channels, e.ordering_key, e.deliver_at, e.deliveries
  from posthorn.event e
  where e.tenant_id = $1 and e.id >= $2 and e.id <= $3
  order by e.id desc limit $4
)
select t.seen as "seen", t.lowest as "lowest", s.id as "id", s.tenant_id as "tenantId", s.type as "type",
       s.channels as "channels", s.ordering_key as "orderingKey", s.deliver_at as "deliverAt", s.deliveries as "deliveries"
from (select (select count(*)::integer from seen) as seen, (select n.id from seen n order by n.id limit 1) as lowest) t
left join lateral (
  select s.id, s.tenant_id, s.type, s.channels, s.ordering_key, s.deliver_at, s.deliveries
  from seen s where $5::text is null or s.type = $5 order by s.id desc limit $6
) s on true
order by s.id desc`

/** Events looked at for one page at most: a rare type gives short pages instead of slow ones. */
const maxExamined = 5_000

export type EventList = Period & {
  tenantId: string
  type?: string | undefined
  /** Goes on behind this id. */
  after?: string | undefined
  limit: number
}

/** A page, newest first. `next` is the id to go on behind, null at the end; a page may be short and yet not the last. */
export async function listEvents(
  queryable: Queryable,
  list: EventList,
): Promise<{ rows: EventRow[]; next: string | null }> {
  const { low, high } = idBounds(list)
  const top = list.after === undefined ? high : lower(high, before(list.after))
  const examined = list.type === undefined ? list.limit + 1 : maxExamined
  const { rows } = await queryable.query<EventRow & { id: string | null; seen: number; lowest: string | null }>({
    name: 'event-list',
    text: listEventsText,
    values: [list.tenantId, low, top, examined, list.type ?? null, list.limit + 1],
  })
  const found: EventRow[] = rows.filter((row) => row.id !== null)
  const { seen, lowest } = rows[0]!
  const page = found.slice(0, list.limit)
  if (found.length > list.limit) return { rows: page, next: page.at(-1)!.id }
  return { rows: page, next: seen < examined ? null : lowest }
}
