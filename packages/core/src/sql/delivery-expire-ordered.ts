import { type Pool, type PoolClient, transaction } from '../db/pool.ts'
import { logEnds } from './attempt-ends.ts'
import { laneWaits } from './delivery-expire.ts'
import { noLane } from './lane-sweep.ts'
import { endedHeads, releaseNext } from './order-release.ts'
import { hotGuards } from './planner-guards.ts'

/**
 * Expire at ordered lanes: ready, held -> failed, for what has waited too long at a lane that is paused, blocked or limited.
 *
 * Invariants, beside those of delivery-expire.ts
 *   - The lane is locked first: claims decide by what is ready and held, and who ends a head lets the next of its key go.
 *   - One lane a call: first what is held, in the order of the index, which no end of a head can reach before; then what is
 *     ready. A head that is released meanwhile has a new ticket, and is met at the end of it.
 */
const nextLane = `
select l.endpoint_id from posthorn.lane l
where l.endpoint_id >= $1::uuid and l.ordering > 0 and not l.reordering and ${laneWaits}
order by l.endpoint_id limit 1`

const lockLane = `
select from posthorn.lane l
where l.endpoint_id = $1::uuid and l.ordering > 0 and not l.reordering and ${laneWaits}
for no key update`

const expire = (stretch: string): string => `
with stretch as materialized (${stretch}
), deleted as (
  delete from posthorn.delivery d using stretch s
  where d.ctid = s.at and s.owed_at < now() - $4::bigint * interval '1 millisecond'
  returning d.event_id, d.endpoint_id, d.attempts, d.head, d.order_key, d.place
), logged as (
${logEnds('deleted', '5', `'expired'`)}
)
select $1::uuid as endpoint_id, one.expired, one.met, last.order_key as last_key, last.ticket as last_ticket,
  h.order_key, h.place
from (select (select count(*) from deleted)::integer as expired, (select count(*) from stretch)::integer as met) one
left join lateral (
  select s.order_key, s.ticket from stretch s order by s.nth desc limit 1
) last on true
left join deleted h on h.head and h.order_key is not null`

const expireHeld = expire(`
  select h.at, h.owed_at, h.order_key, h.ticket, row_number() over (order by h.order_key, h.ticket) as nth
  from (
    select d.ctid as at, d.owed_at, d.order_key, d.ticket from posthorn.delivery d
    where d.state = 3 and d.endpoint_id = $1::uuid and (d.order_key, d.ticket) > ($2::bigint, $3::bigint)
    order by d.order_key, d.ticket limit $5
  ) h`)

const expireReady = expire(`
  select r.at, r.owed_at, $2::bigint as order_key, r.ticket, row_number() over (order by r.ticket) as nth
  from (
    select d.ctid as at, d.owed_at, d.ticket from posthorn.delivery d
    where d.state = 0 and d.endpoint_id = $1::uuid and d.ticket > $3::bigint
    order by d.ticket limit $5
  ) r`)

/** A place in an ordered lane: among what is held, or what is ready. */
export type OrderedExpireCursor = { endpointId: string; held: boolean; orderKey: bigint; ticket: bigint }

const lowest = -9_223_372_036_854_775_808n
const startOf = (endpointId: string, held: boolean): OrderedExpireCursor => ({
  endpointId,
  held,
  orderKey: lowest,
  ticket: lowest,
})

export const beforeOrderedLanes: OrderedExpireCursor = Object.freeze(startOf(noLane, true))

type Step = {
  endpoint_id: string
  expired: number
  met: number
  last_key: string
  last_ticket: string
  order_key: string | null
  place: string | null
}

/**
 * One step of a round over the ordered lanes: `rows` deliveries of one lane at most.
 * @returns how many ended, where the next step goes on (null when the round is over), and the lanes with new work
 */
export function expireOrdered(
  pool: Pool,
  options: { from: OrderedExpireCursor; maxAgeMs: number; rows: number },
): Promise<{ expired: number; next: OrderedExpireCursor | null; released: string[] }> {
  const { from, maxAgeMs, rows: most } = options
  return transaction(pool, async (client) => {
    await client.query(hotGuards)
    const endpointId = await lockNext(client, from.endpointId)
    if (endpointId === null) return { expired: 0, next: null, released: [] }
    const at = endpointId === from.endpointId ? from : startOf(endpointId, true)
    const { rows } = await client.query<Step>({
      name: at.held ? 'expire-held' : 'expire-ordered-ready',
      text: at.held ? expireHeld : expireReady,
      values: [endpointId, at.orderKey.toString(), at.ticket.toString(), maxAgeMs, most],
    })
    const { expired, met, last_key, last_ticket } = rows[0]!
    const ended = endedHeads(rows)
    const released = ended.length > 0 ? await releaseNext(client, ended) : []
    if (met >= most) {
      return { expired, released, next: { ...at, orderKey: BigInt(last_key), ticket: BigInt(last_ticket) } }
    }
    return { expired, released, next: at.held ? startOf(endpointId, false) : startOf(after(endpointId), true) }
  })
}

/** Locks the first lane from here on that waits. The lock looks again: the lane may have been opened just now. */
async function lockNext(client: PoolClient, from: string): Promise<string | null> {
  for (let id = from; ; id = after(id)) {
    const { rows } = await client.query<{ endpoint_id: string }>(nextLane, [id])
    if (rows[0] === undefined) return null
    id = rows[0].endpoint_id
    if ((await client.query(lockLane, [id])).rowCount === 1) return id
  }
}

/** The next id there can be. */
function after(id: string): string {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0').slice(-32)
  return next.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
