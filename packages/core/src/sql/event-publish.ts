import type { Queryable } from '../db/pool.ts'

/** One event of a request, checked: its names, sizes and JSON are looked at by nobody further down. */
export type PublishEvent = {
  type: string
  /** Stored, signed and sent as they are. */
  payload: Uint8Array
  channels: readonly string[] | null
  orderingKey: string | null
  /** To the millisecond. */
  deliverAt: Date | null
}

/** What one caller asks for: one or more events of one tenant, all or none, under one idempotency key or none. */
export type PublishRequest = {
  tenantId: string
  idempotencyKey: string | null
  events: readonly PublishEvent[]
}

export type PublishedEvent = {
  /** UUID. Its time is the event's created_at. */
  id: string
  deliveries: number
}

/**
 * `accepted`: written now. `replayed`: the key had been used with the same content; this is the first answer, and nothing
 * was written. `reused`: the key had been used with other content; nothing was written. Events stand in the request's order.
 */
export type PublishResult =
  | { outcome: 'accepted' | 'replayed'; events: PublishedEvent[]; lanes: string[] }
  | { outcome: 'reused' }

// Invariant: posthorn.publish_many (prisma/migrations/20261129000100_publish) is the one path by which events enter, and
// writes each request in the caller's transaction whole or not at all. A key stands at most once a call for one tenant.
const publishManyText = `
select p.request_no, p.event_id, p.deliveries, p.replayed, p.reused, p.lanes
from posthorn.publish_many($1::text[], $2::text[], $3::integer[], $4::text[], $5::bytea, $6::integer[],
                           $7::text[], $8::text[], $9::timestamptz[]) p`

type Row = [
  requestNo: number,
  eventId: string | null,
  deliveries: number | null,
  replayed: boolean,
  reused: boolean,
  lanes: string[],
]

/**
 * Publishes many requests in one statement. The payloads go over as one binary parameter: no escaping, one copy.
 *
 * Run it in a READ COMMITTED transaction, and answer nobody before that has committed: until then no id is a promise. With
 * keys it may wait for another transaction that holds one of them: set a `lock_timeout`.
 *
 * @returns one result for each request, in their order
 * @throws what Postgres says; then nothing of any request is written once the transaction is rolled back
 */
export async function publishMany(queryable: Queryable, requests: readonly PublishRequest[]): Promise<PublishResult[]> {
  const { rows } = await queryable.query<Row>({
    name: 'event-publish',
    text: publishManyText,
    values: parameters(requests),
    rowMode: 'array',
  })
  return results(requests, rows)
}

function parameters(requests: readonly PublishRequest[]): unknown[] {
  const tenants: string[] = []
  const keys: (string | null)[] = []
  const request: number[] = []
  const types: string[] = []
  const payloads: Uint8Array[] = []
  const lengths: number[] = []
  const channels: (string | null)[] = []
  const orderingKeys: (string | null)[] = []
  const deliverAts: (string | null)[] = []
  for (const { tenantId, idempotencyKey, events } of requests) {
    tenants.push(tenantId)
    keys.push(idempotencyKey)
    for (const event of events) {
      request.push(tenants.length)
      types.push(event.type)
      payloads.push(event.payload)
      lengths.push(event.payload.length)
      channels.push(event.channels?.join(',') ?? null)
      orderingKeys.push(event.orderingKey)
      deliverAts.push(event.deliverAt?.toISOString() ?? null)
    }
  }
  const bytes = payloads.length === 1 ? payloads[0]! : Buffer.concat(payloads)
  // Numbers as an array's text: the driver would quote and escape each.
  const numbers = `{${request.join()}}`
  return [tenants, keys, numbers, types, bytes, `{${lengths.join()}}`, channels, orderingKeys, deliverAts]
}

function results(requests: readonly PublishRequest[], rows: Row[]): PublishResult[] {
  const made: PublishResult[] = new Array(requests.length)
  for (const [requestNo, id, deliveries, replayed, reused, lanes] of rows) {
    const place = requestNo - 1
    if (reused) {
      made[place] = { outcome: 'reused' }
      continue
    }
    made[place] ??= { outcome: replayed ? 'replayed' : 'accepted', events: [], lanes: [] }
    const result = made[place]
    if (result.outcome === 'reused' || id === null || deliveries === null) throw new Error('publish_many: torn answer')
    result.events.push({ id, deliveries })
    for (const lane of lanes) result.lanes.push(lane)
  }
  for (const [place, { events }] of requests.entries()) {
    const result = made[place]
    if (result === undefined) throw new Error('publish_many: a request has no answer')
    if (result.outcome === 'reused' || events.length === 1) continue
    if (result.events.length !== events.length) throw new Error('publish_many: an event has no answer')
    // Rows come in no promised order, but the ids of one call rise with the events' order.
    result.events.sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  return made
}
