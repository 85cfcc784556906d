import type { Pool } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'
import { lockRedelivery } from './recover-lock.ts'

/** `owed`: it is owed now. `missing`: never owed, or not the tenant's. The others: not now, and nothing was changed. */
export type RedeliverResult = 'owed' | 'missing' | 'in_flight' | 'endpoint_closed'

// Redeliver: ended -> ready (a new row), scheduled -> ready.
//
// Invariants
//   - A leased row is touched by nobody but claim, settle and reclaim. The state is looked at again by the statement that
//     changes it, so a row that was leased meanwhile stays as it is.
//   - The event's id is kept, and the attempts' numbers go on from the highest.
//   - The transaction has its id before it draws the ticket: the id is part of `known`, and a ticket is drawn for rows of it
//     alone. The safe marks trust that order.
//   - A recovery of the same endpoint waits, and is waited for (recover-lock.ts): it reads what has ended, and owes it again.
//   - The lane is read, not locked: claims lock it. What slips past a disabling is canceled by the sweep.
//   - Redelivered rows join the tail of their lane, and of their ordering key. A scheduled one is what it was: where it is a
//     head, the others go on waiting for it.
const redeliverText = `
with known as materialized (
  select e.id as event_id, e.ordering_key, l.endpoint_id, l.status < 2 as open, pg_current_xact_id() as xid
  from posthorn.event e join posthorn.lane l on l.endpoint_id = $3 and l.tenant_id = e.tenant_id
  where e.id = $2 and e.tenant_id = $1
), live as materialized (
  select d.state from posthorn.delivery d where d.event_id = $2 and d.endpoint_id = $3
), past as materialized (
  select count(*)::integer as logged, coalesce(max(a.number), 0) as number
  from posthorn.attempt a where a.event_id = $2 and a.endpoint_id = $3
), hastened as (
  update posthorn.delivery d
  set state = 0, ticket = nextval('posthorn.ticket'), due_at = clock_timestamp(), owed_at = least(d.owed_at, clock_timestamp())
  from known k
  where d.event_id = k.event_id and d.endpoint_id = k.endpoint_id and d.state = 2 and k.open and k.xid is not null
  returning d.event_id
), made as (
  insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, attempts, step, state, order_key)
  select k.event_id, k.endpoint_id, nextval('posthorn.ticket'), clock_timestamp(), clock_timestamp(), p.number, 0, 0,
    posthorn.order_key(k.ordering_key)
  from known k cross join past p
  where k.open and k.xid is not null and p.logged > 0 and not exists (select from live)
  on conflict do nothing
  returning event_id
)
select k.open as "open", (select l.state from live l) as "state", p.logged as "logged",
  exists (select from hastened) or exists (select from made) as "changed"
from known k cross join past p`

type Row = { open: boolean; state: number | null; logged: number; changed: boolean }

/**
 * Owes a delivery again, now. A pending one is left as it is.
 * @throws Error when others change the row faster than it can be read, which does not happen
 */
export async function redeliver(
  pool: Pool,
  tenantId: string,
  eventId: string,
  endpointId: string,
): Promise<RedeliverResult> {
  // Between the snapshot and the change another may have moved the row: then what it became decides.
  for (let turn = 0; turn < 10; turn++) {
    const { rows } = await pipelinedTransaction(pool, beginGuarded, (client) => {
      // Where it fails, so does what follows.
      lockRedelivery(client, endpointId).catch(() => {})
      return client.query<Row>({ name: 'redeliver', text: redeliverText, values: [tenantId, eventId, endpointId] })
    })
    const row = rows[0]
    if (row === undefined || (row.state === null && row.logged === 0)) return 'missing'
    if (row.changed) return 'owed'
    if (row.state === 1) return 'in_flight'
    if (!row.open) return 'endpoint_closed'
    if (row.state === 0 || row.state === 3) return 'owed'
  }
  throw new Error('redeliver: the delivery does not keep still')
}
