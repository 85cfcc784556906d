import type { Pool } from '../db/pool.ts'
import { beginHot } from './planner-guards.ts'

/**
 * Claim: ready -> leased.
 *
 * Invariants
 *   - A lane's leased rows never exceed its max_in_flight, over all dispatchers. The lane's row is locked while they are
 *     counted and added to, and no other statement makes a leased row. The count stands in a second statement, so that its
 *     snapshot has what the lock's previous holder committed: in one statement the cap was exceeded 391 times.
 *   - A lane that is not enabled, or blocked, gives nothing: its status is read from the locked row.
 *   - The oldest tickets first. A row that somebody else has locked (a cancel) is passed over, not waited for.
 *   - No more than `limit` rows, however many lanes: `due` is materialized and limited before anything is updated.
 *   - The lanes are served in the order asked. In any other, a limit that is reached each time would starve the same ones.
 *   - Each lease has a new ticket, drawn after the transaction's id.
 */
const lockLanes = `
select l.endpoint_id, l.version, l.max_in_flight, l.timeout_ms
from posthorn.lane l
where l.endpoint_id = any($1::uuid[])
  and l.status = 0
  and (l.blocked_until is null or l.blocked_until <= now())
for no key update skip locked`

const leaseReady = `
with lane as materialized (
  select l.endpoint_id, l.timeout_ms, l.ready_from, l.want, l.max_in_flight - held.n as room, held.lowest
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[])
    as l(endpoint_id, max_in_flight, timeout_ms, ready_from, leased_from, want)
  cross join lateral (
    select count(*)::integer as n, min(d.ticket) as lowest
    from posthorn.delivery d
    where d.state = 1 and d.endpoint_id = l.endpoint_id and d.ticket >= l.leased_from
  ) held
), due as materialized (
  select d.event_id, d.endpoint_id, d.ticket, lane.timeout_ms
  from lane
  cross join lateral (
    select r.event_id, r.endpoint_id, r.ticket
    from posthorn.delivery r
    where r.state = 0 and r.endpoint_id = lane.endpoint_id and r.ticket >= lane.ready_from
    order by r.ticket
    limit greatest(least(lane.room, lane.want), 0)
    for update skip locked
  ) d
  where lane.room > 0
  limit $7
), leased as (
  update posthorn.delivery d
  set state = 1,
      ticket = nextval('posthorn.ticket'),
      lease_expires_at = now() + (due.timeout_ms + $8::integer) * interval '1 millisecond',
      dispatcher_id = $9::integer,
      attempts = d.attempts + 1
  from due
  where d.event_id = due.event_id and d.endpoint_id = due.endpoint_id
  returning d.event_id, d.endpoint_id, d.ticket, due.ticket as ready_ticket, d.attempts, d.step, d.fresh,
    (extract(epoch from now() - d.owed_at) * 1000)::bigint as age_ms
)
select lane.endpoint_id, lane.room, lane.lowest, leased.event_id, leased.ticket, leased.ready_ticket, leased.attempts,
  leased.step, leased.fresh, leased.age_ms
from lane left join leased on leased.endpoint_id = lane.endpoint_id`

/** Where a claim looks in one lane. */
export type LaneAim = {
  endpointId: string
  /** No ready row below is looked at. */
  readyFrom: bigint
  /** No leased row below is counted. */
  leasedFrom: bigint
}

export type Lease = {
  eventId: string
  endpointId: string
  /** Fences the settle: it changes the row only while this is its ticket. A decimal string, for it is 64 bits wide. */
  ticket: string
  /** This attempt's number, from 1; never used again for this delivery. */
  number: number
  /** Position in the retry schedule, from 0. */
  step: number
  /** The attempt must go out on a new connection. */
  fresh: boolean
  /** Milliseconds since the present schedule began. */
  ageMs: number
  /** Version of the endpoint's configuration when the lease was taken. */
  version: number
  timeoutMs: number
}

export type LaneClaim = {
  endpointId: string
  leases: Lease[]
  /** One past the highest ready ticket taken; 0 when none was. */
  nextReady: bigint
  /** Lowest ticket among the lane's leases, the new ones included; null when it has none. */
  lowestLeased: bigint | null
  /** How many more the lane would have taken before this claim. */
  room: number
  /** How many this claim asked of the lane. */
  asked: number
}

type LockedLane = { endpoint_id: string; version: number; max_in_flight: number; timeout_ms: number }

type LeaseRow = {
  endpoint_id: string
  room: number
  lowest: string | null
  event_id: string | null
  ticket: string
  ready_ticket: string
  attempts: number
  step: number
  fresh: boolean
  age_ms: string
}

export type ClaimOptions = {
  /** In the order in which they are served: the limit cuts off the last. */
  lanes: readonly LaneAim[]
  /** Rows at most, of all lanes together. */
  limit: number
  /** Rows at most of one lane. */
  perLane: number
  /** Milliseconds that a lease outlives the endpoint's time-out. */
  graceMs: number
  dispatcherId: number
}

/**
 * Claims from the lanes that could be locked, in one short transaction of two round trips. A lane not in the answer was
 * locked by another claim, is not enabled, or is blocked.
 */
export async function claimDeliveries(pool: Pool, options: ClaimOptions): Promise<LaneClaim[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const [, locking] = await Promise.all([
      client.query(beginHot),
      client.query<LockedLane>({
        name: 'claim-lock-lanes',
        text: lockLanes,
        values: [options.lanes.map((lane) => lane.endpointId)],
      }),
    ])
    if (locking.rows.length === 0) {
      await client.query('rollback')
      return []
    }
    const rows = new Map(locking.rows.map((lane) => [lane.endpoint_id, lane]))
    const locked = options.lanes.flatMap((aim) => {
      const row = rows.get(aim.endpointId)
      return row === undefined ? [] : { ...aim, ...row }
    })
    const perLane = Math.max(1, Math.min(options.perLane, Math.ceil((options.limit * 2) / locked.length)))
    const [leased] = await Promise.all([
      client.query<LeaseRow>({
        name: 'claim-lease-ready',
        text: leaseReady,
        values: [
          locked.map((lane) => lane.endpointId),
          locked.map((lane) => lane.max_in_flight),
          locked.map((lane) => lane.timeout_ms),
          locked.map((lane) => lane.readyFrom.toString()),
          locked.map((lane) => lane.leasedFrom.toString()),
          locked.map(() => perLane),
          options.limit,
          options.graceMs,
          options.dispatcherId,
        ],
      }),
      client.query('commit'),
    ])
    return gatherByLane(leased.rows, rows, perLane)
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

function gatherByLane(rows: LeaseRow[], locked: Map<string, LockedLane>, asked: number): LaneClaim[] {
  const claims = new Map<string, LaneClaim>()
  for (const row of rows) {
    let claim = claims.get(row.endpoint_id)
    if (claim === undefined) {
      claim = {
        endpointId: row.endpoint_id,
        leases: [],
        nextReady: 0n,
        lowestLeased: row.lowest === null ? null : BigInt(row.lowest),
        room: row.room,
        asked: Math.max(0, Math.min(asked, row.room)),
      }
      claims.set(row.endpoint_id, claim)
    }
    if (row.event_id === null) continue
    const ready = BigInt(row.ready_ticket)
    if (ready >= claim.nextReady) claim.nextReady = ready + 1n
    // The lane's older leases, if any, all have lower tickets than the ones just drawn.
    const ticket = BigInt(row.ticket)
    if (claim.lowestLeased === null || ticket < claim.lowestLeased) claim.lowestLeased = ticket
    const lane = locked.get(row.endpoint_id)!
    claim.leases.push({
      eventId: row.event_id,
      endpointId: row.endpoint_id,
      ticket: row.ticket,
      number: row.attempts,
      step: row.step,
      fresh: row.fresh,
      ageMs: Number(row.age_ms),
      version: lane.version,
      timeoutMs: lane.timeout_ms,
    })
  }
  return [...claims.values()]
}
