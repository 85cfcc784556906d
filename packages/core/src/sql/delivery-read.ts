import type { Pool } from '../db/pool.ts'
import { type DeliveryRow, type DeliveryState, readStates } from './delivery-states.ts'
import { before, idBounds, lower, type Period } from './event-bounds.ts'
import { walkEvents } from './event-walk.ts'

/** What one page may cost, whatever the filters leave: then it is short, and the next goes on. */
const maxEvents = 5_000
const maxPairs = 20_000
const eventsAtOnce = 1_000
const eventsAtOnceUnfiltered = 250
const pairsAtOnce = 2_000

/** Behind this delivery; with `endpointId` null, behind all of the event. */
export type DeliveryPosition = { eventId: string; endpointId: string | null }

export type DeliveryList = Period & {
  tenantId: string
  eventId?: string | undefined
  endpointId?: string | undefined
  eventType?: string | undefined
  state?: DeliveryState | undefined
  after?: DeliveryPosition | undefined
  limit: number
}

export type DeliveryPage = {
  rows: DeliveryRow[]
  /** Null at the end. A page may be short and yet not the last. */
  next: DeliveryPosition | null
  /** Events looked at. */
  examined: number
}

/**
 * A page of a tenant's deliveries: newest event first, within an event the highest endpoint id first. That order never
 * changes, so no page repeats or skips what was there when the first was read; the states are those of the moment.
 */
export async function listDeliveries(pool: Pool, list: DeliveryList): Promise<DeliveryPage> {
  const { tenantId, eventType, endpointId, state, limit } = list
  const filtered = endpointId !== undefined || eventType !== undefined || state !== undefined
  const { low, high: top } = bounds(list)
  const rows: DeliveryRow[] = []
  let high = top
  let examined = 0
  let pairs = 0
  for (;;) {
    const wanted = limit + 1 - rows.length
    const most = Math.min(filtered ? eventsAtOnce : eventsAtOnceUnfiltered, maxEvents - examined)
    const walked = await walkEvents(pool, tenantId, { low, high, limit: most })
    const events: typeof walked = []
    // Without a filter each pair is a row; with one, so many at a time. One event is always taken whole.
    let room = filtered ? pairsAtOnce : wanted
    let seen = 0
    for (const event of walked) {
      if (room <= 0) break
      seen++
      if (eventType !== undefined && event.type !== eventType) continue
      events.push(event)
      if (endpointId === undefined) {
        room -= event.deliveries
        pairs += event.deliveries
      }
    }
    if (events.length > 0) {
      rows.push(...(await readStates(pool, { events, endpointId, state, after: pairOf(list.after), limit: wanted })))
    }
    examined += seen
    if (rows.length > limit) {
      const page = rows.slice(0, limit)
      const { eventId, endpointId } = page.at(-1)!
      return { rows: page, next: { eventId, endpointId }, examined }
    }
    const last = walked[seen - 1]
    if (last === undefined || (seen === walked.length && walked.length < most)) return { rows, next: null, examined }
    if (examined >= maxEvents || pairs >= maxPairs) {
      return { rows, next: { eventId: last.id, endpointId: null }, examined }
    }
    high = before(last.id)
  }
}

function bounds({ eventId, after, ...period }: DeliveryList): { low: string; high: string } {
  const { low, high } = idBounds(period)
  const behind =
    after === undefined ? high : lower(high, after.endpointId === null ? before(after.eventId) : after.eventId)
  if (eventId === undefined) return { low, high: behind }
  return { low: eventId < low ? low : eventId, high: lower(behind, eventId) }
}

function pairOf(after: DeliveryPosition | undefined): { eventId: string; endpointId: string } | undefined {
  return after === undefined || after.endpointId === null
    ? undefined
    : { eventId: after.eventId, endpointId: after.endpointId }
}

/** One delivery; null when the tenant has no such event, or it was never owed to the endpoint. */
export async function readDelivery(
  pool: Pool,
  tenantId: string,
  eventId: string,
  endpointId: string,
): Promise<DeliveryRow | null> {
  const { rows } = await listDeliveries(pool, { tenantId, eventId, endpointId, limit: 1 })
  return rows[0] ?? null
}
