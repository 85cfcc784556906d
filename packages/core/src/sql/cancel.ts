import { type Pool, transaction } from '../db/pool.ts'
import { logEnds } from './attempt-ends.ts'
import { endedHeads, releaseNext } from './order-release.ts'
import { guards } from './pipelined-transaction.ts'

/** `ended`: it has ended otherwise. `missing`: never owed, or not the tenant's. */
export type CancelResult = 'canceled' | 'missing' | 'in_flight' | 'ended'

// Cancel: ready, held or scheduled -> canceled (row deleted, the end logged).
//
// Invariants
//   - The row goes and the log comes in one statement.
//   - A leased row is touched by nobody but claim, settle and reclaim: the state is looked at again by the delete, should
//     another have changed the row meanwhile.
//   - At an ordered lane its row is locked first, and where a head ends, the next of its key goes: see order-release.ts.
const lockOrderedLane = `
select from posthorn.lane l
where l.endpoint_id = $1 and l.tenant_id = $2 and (l.ordering > 0 or l.reordering) for no key update`

const cancelText = `
with known as materialized (
  select e.id as event_id from posthorn.event e where e.id = $2 and e.tenant_id = $1
), live as materialized (
  select d.state from known k join posthorn.delivery d on d.event_id = k.event_id and d.endpoint_id = $3
), past as materialized (
  select a.state from known k join posthorn.attempt a on a.event_id = k.event_id and a.endpoint_id = $3 and a.outcome <> 4
  order by a.number desc, (a.outcome = 0) desc, a.id desc limit 1
), gone as (
  delete from posthorn.delivery d using known k
  where d.event_id = k.event_id and d.endpoint_id = $3 and d.state in (0, 2, 3)
  returning d.event_id, d.endpoint_id, d.attempts, d.head, d.order_key, d.place
), logged as (
${logEnds('gone', '6', `'by_request'`)}
)
select (select l.state from live l) as "live", (select p.state from past p) as "past", exists (select from gone) as "gone",
  $3::uuid as endpoint_id, h.order_key, h.place
from known k left join gone h on h.head`

type Row = {
  live: number | null
  past: number | null
  gone: boolean
  endpoint_id: string
  order_key: string | null
  place: string | null
}

/**
 * Stops owing a delivery.
 * @throws Error when others change the row faster than it can be read, which does not happen
 */
export async function cancel(pool: Pool, tenantId: string, eventId: string, endpointId: string): Promise<CancelResult> {
  for (let turn = 0; turn < 10; turn++) {
    const row = await transaction(pool, async (client) => {
      await Promise.all([client.query(guards), client.query(lockOrderedLane, [endpointId, tenantId])])
      const values = [tenantId, eventId, endpointId]
      const { rows } = await client.query<Row>({ name: 'cancel', text: cancelText, values })
      const ended = endedHeads(rows)
      if (ended.length > 0) await releaseNext(client, ended)
      return rows[0]
    })
    if (row === undefined || (row.live === null && row.past === null)) return 'missing'
    if (row.gone) return 'canceled'
    if (row.live === 1) return 'in_flight'
    if (row.live === null) return row.past === 6 ? 'canceled' : 'ended'
  }
  throw new Error('cancel: the delivery does not keep still')
}
