import { answersOf, inOneWrite, type Pool, type Queryable } from '../db/pool.ts'
import { type Rate, takeTokens, tokensIn, waitForTokens } from '../rate/bucket.ts'
import { leaseOrderedDeliveries } from './delivery-claim-ordered.ts'
import { leaseReady, lockLanes } from './delivery-claim-statements.ts'
import { beginHotPrepared } from './planner-guards.ts'
import { type EventToSend, isNotText } from './send-read.ts'

/** Where a claim looks in one lane. */
export type LaneAim = {
  endpointId: string
  /** No ready row below is looked at. */
  readyFrom: bigint
  /** No leased row below is counted. */
  leasedFrom: bigint
  /** Rows at most of this lane; unset for as many as of any. */
  most?: number
  /** For an ordered lane: no ready row is below, and none will be. */
  safeFrom?: bigint
  /** What `LaneClaim.rewound` was when `safeFrom` was found: with another, nothing is known. */
  rewound?: number | null
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
  /** The first of its ordering key, for which others may be held: whoever ends it lets the next go. */
  head: boolean
  /** Null where its payload was not read: see ClaimOptions. One object for all leases of an event. */
  event: EventToSend | null
  /** Of the payload; null where it was not looked for, or the event is gone. */
  bytes: number | null
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
  /** Ready rows that are out of the way now: leased, and at an ordered lane held. */
  taken: number
  /** The claim took as many as it may of all lanes, and so may have left some of this one. */
  limited: boolean
  /** A strict lane whose head waits for its retry: nothing else goes before. */
  stuck: boolean
  /** At an ordered lane: it changes when rows come back below a safe watermark. Null at one without order. */
  rewound: number | null
}

export type LockedLane = {
  endpoint_id: string
  /** 0 none, 1 strict, 2 by key. */
  ordering: number
  reordering: boolean
  rewound: number
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

/** An event of a lease. */
type EventRow = { ticket: null } & ClaimedEventRow

/** The payload is null where it was left out. */
export type ClaimedEventRow = { event_id: string; type: string; bytes: number; payload: string | null }

export type ClaimedEvent = Pick<Lease, 'event' | 'bytes'>

/** A locked lane, with where to look in it, and how many it is asked for. */
export type Asked = Omit<LaneAim, 'rewound'> &
  LockedLane & {
    want: number
    /** `rewound` when `safeFrom` was found. */
    aimed: number | null
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
  /** Small payloads are read with what is leased until they are so many bytes together; of the others the size. Default: neither. */
  payloadBytes?: number | null
}

/**
 * Claims from the lanes that could be locked, in one short transaction of two round trips. A lane not in the answer was
 * locked by another claim, is not enabled, or is blocked.
 */
export async function claimDeliveries(pool: Pool, options: ClaimOptions): Promise<LaneClaim[]> {
  try {
    return await claim(pool, options)
  } catch (error) {
    if (!options.payloadBytes || !isNotText(error)) throw error
    // A payload that is no text, and so no JSON: nothing was leased. It is sent as it is by whoever reads it by itself.
    return claim(pool, { ...options, payloadBytes: 0 })
  }
}

async function claim(pool: Pool, options: ClaimOptions): Promise<LaneClaim[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const [, locking] = await Promise.all(
      inOneWrite(client, () => [
        beginHotPrepared(client),
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
    const ready = locked.filter((lane) => lane.ordering === 0)
    const ordered = locked.filter((lane) => lane.ordering > 0)
    const limits = shareLimit(options.limit, locked)
    const kinds = ready.length > 0 && ordered.length > 0 ? 2 : 1
    const payloadBytes = options.payloadBytes == null ? null : Math.floor(options.payloadBytes / kinds)
    const [first, second] = await answersOf(
      inOneWrite(
        client,
        () =>
          [
            leaseReadyDeliveries(client, { ...options, payloadBytes, limit: limits.ready }, ready),
            leaseOrderedDeliveries(client, { ...options, payloadBytes, limit: limits.ordered }, ordered),
            client.query('commit'),
          ] as const,
      ),
    )
    return second.length === 0 ? first : [...first, ...second]
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

/** Lanes without order, and those with: each kind has its statement, and its part of the limit. */
function shareLimit(limit: number, lanes: readonly Asked[]): { ready: number; ordered: number } {
  const ordered = lanes.filter((lane) => lane.ordering > 0).length
  if (ordered === 0) return { ready: limit, ordered: 0 }
  if (ordered === lanes.length) return { ready: 0, ordered: limit }
  // What cannot be shared goes to those that have waited longest; the others are first next time.
  if (limit === 1) return lanes[0]!.ordering > 0 ? { ready: 0, ordered: 1 } : { ready: 1, ordered: 0 }
  const part = Math.max(1, Math.min(limit - 1, Math.round((limit * ordered) / lanes.length)))
  return { ready: limit - part, ordered: part }
}

async function leaseReadyDeliveries(
  client: Queryable,
  options: Required<ClaimOptions>,
  lanes: readonly Asked[],
): Promise<LaneClaim[]> {
  if (lanes.length === 0) return []
  const { rows } = await client.query<LaneRow | LeaseRow | EventRow>({
    name: 'claim-lease-ready',
    text: leaseReady,
    values: [
      lanes.map((lane) => lane.endpointId),
      lanes.map((lane) => lane.max_in_flight),
      lanes.map((lane) => lane.timeout_ms),
      lanes.map((lane) => lane.readyFrom.toString()),
      lanes.map((lane) => lane.leasedFrom.toString()),
      lanes.map((lane) => lane.want),
      options.limit,
      options.graceMs,
      options.dispatcherId,
      lanes.map((lane) => lane.interval_us),
      options.payloadBytes,
    ],
  })
  return gatherByLane(rows, lanes, options.limit)
}

/** In the order asked. */
function askOf(options: ClaimOptions, rows: readonly LockedLane[]): Asked[] {
  const byId = new Map(rows.map((row) => [row.endpoint_id, row]))
  const perLane = Math.max(1, Math.min(options.perLane, Math.ceil((options.limit * 2) / rows.length)))
  return options.lanes.flatMap((aim) => {
    const row = byId.get(aim.endpointId)
    // A lane whose ordering is being changed gives nothing, as if it were closed.
    if (row === undefined || (row.ordering > 0 && row.reordering)) return []
    const rate = rateOfLane(row)
    const tokens = rate === null ? perLane : tokensIn(rate, row.ahead_us ?? 0)
    return { ...aim, ...row, aimed: aim.rewound ?? null, want: Math.min(perLane, aim.most ?? perLane, tokens) }
  })
}

export function rateOfLane(row: LockedLane): Rate | null {
  return row.interval_us === null ? null : { intervalUs: row.interval_us, burst: row.rate_burst ?? 1 }
}

function gatherByLane(
  rows: readonly (LaneRow | LeaseRow | EventRow)[],
  locked: readonly Asked[],
  limit: number,
): LaneClaim[] {
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
      taken: 0,
      limited: false,
      stuck: false,
      rewound: null,
    })
  }
  const events = claimedEvents(rows.filter((row): row is EventRow => row.event_id !== null && row.ticket === null))
  let taken = 0
  for (const row of rows) {
    if (row.event_id === null || row.ticket === null) continue
    const claim = claims.get(row.endpoint_id)!
    const ready = BigInt(row.ready_ticket)
    if (ready >= claim.nextReady) claim.nextReady = ready + 1n
    addLease(claim, row, lanes.get(row.endpoint_id)!, false, events.get(row.event_id))
    taken++
  }
  for (const claim of claims.values()) {
    const lane = lanes.get(claim.endpointId)!
    claim.taken = claim.leases.length
    claim.limited = taken >= limit
    const rate = rateOfLane(lane)
    if (rate === null) continue
    claim.nextMs = waitForTokens(rate, takeTokens(rate, lane.ahead_us ?? 0, claim.leases.length))
  }
  return [...claims.values()]
}

export function claimedEvents(rows: readonly ClaimedEventRow[]): Map<string, ClaimedEvent> {
  const events = new Map<string, ClaimedEvent>()
  for (const { event_id: id, type, bytes, payload } of rows)
    events.set(id, { event: payload === null ? null : { type, payload: Buffer.from(payload) }, bytes })
  return events
}

/** Adds the lease of a row to its lane's claim, and widens what that has seen. `head`: see Lease. */
export function addLease(
  claim: LaneClaim,
  row: Omit<LeaseRow, 'endpoint_id' | 'ready_ticket'>,
  lane: Asked,
  head: boolean,
  claimed: ClaimedEvent | undefined,
): void {
  // The lane's older leases, if any, all have lower tickets than the ones just drawn.
  const ticket = BigInt(row.ticket)
  if (claim.lowestLeased === null || ticket < claim.lowestLeased) claim.lowestLeased = ticket
  claim.leases.push({
    eventId: row.event_id,
    endpointId: lane.endpointId,
    ticket: row.ticket,
    number: row.attempts,
    step: row.step,
    fresh: row.fresh,
    ageMs: Number(row.age_ms),
    version: lane.version,
    timeoutMs: lane.timeout_ms,
    watched: lane.watched,
    probe: lane.probing,
    head,
    event: claimed?.event ?? null,
    bytes: claimed?.bytes ?? null,
  })
}
