import { inOneWrite, type Pool } from '../db/pool.ts'
import { type Rate, takeTokens, tokensIn, waitForTokens } from '../rate/bucket.ts'
import { leaseReady, lockLanes } from './delivery-claim-statements.ts'
import { beginHot } from './planner-guards.ts'

/** Where a claim looks in one lane. */
export type LaneAim = {
  endpointId: string
  /** No ready row below is looked at. */
  readyFrom: bigint
  /** No leased row below is counted. */
  leasedFrom: bigint
  /** Rows at most of this lane; unset for as many as of any. */
  most?: number
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
  /** The lane was failing, probing or recovering: it has to hear of a success. */
  watched: boolean
  /** The lane was probing: this attempt decides whether it is blocked again. */
  probe: boolean
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
  /** See Lease. */
  watched: boolean
  /** Milliseconds until the lane's rate limit lets it give more; 0 when it does already. */
  nextMs: number
}

type LockedLane = {
  endpoint_id: string
  version: number
  timeout_ms: number
  probing: boolean
  /** In effect: lowered by the breaker. */
  max_in_flight: number
  watched: boolean
  interval_us: number | null
  rate_burst: number | null
  ahead_us: number | null
}

/** A lane that was claimed from, whether or not it gave anything. */
type LaneRow = { event_id: null; endpoint_id: string; room: number; lowest: string | null }

type LeaseRow = {
  event_id: string
  endpoint_id: string
  ticket: string
  ready_ticket: string
  attempts: number
  step: number
  fresh: boolean
  age_ms: string
}

/** A locked lane, with where to look in it, and how many it is asked for. */
type Asked = LaneAim & LockedLane & { want: number }

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
    const [, locking] = await Promise.all(
      inOneWrite(client, () => [
        client.query(beginHot),
        client.query<LockedLane>({
          name: 'claim-lock-lanes',
          text: lockLanes,
          values: [options.lanes.map((lane) => lane.endpointId)],
        }),
      ]),
    )
    if (locking.rows.length === 0) {
      await client.query('rollback')
      return []
    }
    const locked = askOf(options, locking.rows)
    const [leased] = await Promise.all(
      inOneWrite(client, () => [
        client.query<LaneRow | LeaseRow>({
          name: 'claim-lease-ready',
          text: leaseReady,
          values: [
            locked.map((lane) => lane.endpointId),
            locked.map((lane) => lane.max_in_flight),
            locked.map((lane) => lane.timeout_ms),
            locked.map((lane) => lane.readyFrom.toString()),
            locked.map((lane) => lane.leasedFrom.toString()),
            locked.map((lane) => lane.want),
            options.limit,
            options.graceMs,
            options.dispatcherId,
            locked.map((lane) => lane.interval_us),
          ],
        }),
        client.query('commit'),
      ]),
    )
    return gatherByLane(leased.rows, locked)
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

/** In the order asked. */
function askOf(options: ClaimOptions, rows: readonly LockedLane[]): Asked[] {
  const byId = new Map(rows.map((row) => [row.endpoint_id, row]))
  const perLane = Math.max(1, Math.min(options.perLane, Math.ceil((options.limit * 2) / rows.length)))
  return options.lanes.flatMap((aim) => {
    const row = byId.get(aim.endpointId)
    if (row === undefined) return []
    const rate = rateOfLane(row)
    const tokens = rate === null ? perLane : tokensIn(rate, row.ahead_us ?? 0)
    return { ...aim, ...row, want: Math.min(perLane, aim.most ?? perLane, tokens) }
  })
}

function rateOfLane(row: LockedLane): Rate | null {
  return row.interval_us === null ? null : { intervalUs: row.interval_us, burst: row.rate_burst ?? 1 }
}

function gatherByLane(rows: readonly (LaneRow | LeaseRow)[], locked: readonly Asked[]): LaneClaim[] {
  const lanes = new Map(locked.map((lane) => [lane.endpoint_id, lane]))
  const claims = new Map<string, LaneClaim>()
  for (const row of rows) {
    if (row.event_id !== null) continue
    const lane = lanes.get(row.endpoint_id)!
    claims.set(row.endpoint_id, {
      endpointId: row.endpoint_id,
      leases: [],
      nextReady: 0n,
      lowestLeased: row.lowest === null ? null : BigInt(row.lowest),
      room: row.room,
      asked: Math.max(0, Math.min(lane.want, row.room)),
      watched: lane.watched,
      nextMs: 0,
    })
  }
  for (const row of rows) {
    if (row.event_id === null) continue
    const claim = claims.get(row.endpoint_id)!
    claim.leases.push(leaseOf(row, lanes.get(row.endpoint_id)!, claim))
  }
  for (const claim of claims.values()) {
    const lane = lanes.get(claim.endpointId)!
    const rate = rateOfLane(lane)
    if (rate === null) continue
    claim.nextMs = waitForTokens(rate, takeTokens(rate, lane.ahead_us ?? 0, claim.leases.length))
  }
  return [...claims.values()]
}

/** The lease of a row; widens what its lane's claim has seen. */
function leaseOf(row: LeaseRow, lane: Asked, claim: LaneClaim): Lease {
  const ready = BigInt(row.ready_ticket)
  if (ready >= claim.nextReady) claim.nextReady = ready + 1n
  // The lane's older leases, if any, all have lower tickets than the ones just drawn.
  const ticket = BigInt(row.ticket)
  if (claim.lowestLeased === null || ticket < claim.lowestLeased) claim.lowestLeased = ticket
  return {
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    ticket: row.ticket,
    number: row.attempts,
    step: row.step,
    fresh: row.fresh,
    ageMs: Number(row.age_ms),
    version: lane.version,
    timeoutMs: lane.timeout_ms,
    watched: lane.watched,
    probe: lane.probing,
  }
}
