import type { Queryable } from '../db/pool.ts'
import { takeTokens, waitForTokens } from '../rate/bucket.ts'
import {
  type Asked,
  addLease,
  type ClaimedEventRow,
  type ClaimOptions,
  claimedEvents,
  type LaneClaim,
  rateOfLane,
} from './delivery-claim.ts'
import { leaseOrdered } from './delivery-claim-ordered-statement.ts'

type OrderedLane = {
  event_id: null
  /** The lane's place among those asked, from 1. */
  nth: string
  room: number
  lowest: string | null
  /** How many may be leased at most. */
  most: number
  /** How many ready rows were to be looked at, how many there were, how many are out of the way now, and the last of these. */
  look: number
  met: number
  taken: number
  last: string | null
  stuck: boolean
}

type OrderedLease = {
  event_id: string
  nth: string
  ticket: string
  attempts: number
  step: number
  fresh: boolean
  keyed: boolean
  age_ms: string
}

type OrderedEvent = { nth: null; ticket: null } & ClaimedEventRow

/** Claims from ordered lanes, locked in the transaction under way. */
export async function leaseOrderedDeliveries(
  client: Queryable,
  options: Required<ClaimOptions>,
  lanes: readonly Asked[],
): Promise<LaneClaim[]> {
  if (lanes.length === 0) return []
  const { rows } = await client.query<OrderedLane | OrderedLease | OrderedEvent>({
    name: 'claim-lease-ordered',
    text: leaseOrdered,
    values: [
      lanes.map((lane) => lane.endpointId),
      lanes.map((lane) => lane.ordering === 1),
      lanes.map((lane) => (lane.ordering === 1 ? 1 : lane.max_in_flight)),
      lanes.map((lane) => lane.timeout_ms),
      lanes.map((lane) => (lane.aimed === lane.rewound ? (lane.safeFrom ?? 0n) : 0n).toString()),
      lanes.map((lane) => lane.leasedFrom.toString()),
      lanes.map((lane) => lane.want),
      lanes.map((lane) => lane.interval_us),
      options.limit,
      options.graceMs,
      options.dispatcherId,
      options.payloadBytes,
    ],
  })
  const claims: LaneClaim[] = []
  const events = claimedEvents(rows.filter(isEvent))
  const leases = Map.groupBy(rows.filter(isLease), (row) => row.nth)
  for (const row of rows) {
    if (row.event_id !== null) continue
    const lane = lanes[Number(row.nth) - 1]!
    const claim = claimOf(row, lane)
    for (const lease of leases.get(row.nth) ?? []) {
      addLease(claim, lease, lane, lease.keyed, events.get(lease.event_id))
    }
    // Where it gave less than it might, and yet not all: the limit of the claim. It is the first in line next time.
    claim.limited = row.taken < row.met && claim.leases.length < row.most
    if (claim.limited || isDrained(row)) claim.asked++
    // A strict lane that gave one is full.
    if (lane.ordering === 1) claim.room -= claim.leases.length
    const rate = rateOfLane(lane)
    if (rate !== null) claim.nextMs = waitForTokens(rate, takeTokens(rate, lane.ahead_us ?? 0, claim.leases.length))
    claims.push(claim)
  }
  return claims
}

function isLease(row: OrderedLane | OrderedLease | OrderedEvent): row is OrderedLease {
  return row.event_id !== null && row.nth !== null
}

function isEvent(row: OrderedLane | OrderedLease | OrderedEvent): row is OrderedEvent {
  return row.nth === null
}

/** Nothing ready was left: neither behind the last one looked at, nor before it. */
function isDrained(row: OrderedLane): boolean {
  return row.look > 0 && row.met < row.look && row.taken === row.met
}

function claimOf(row: OrderedLane, lane: Asked): LaneClaim {
  return {
    endpointId: lane.endpointId,
    leases: [],
    nextReady: row.last === null ? 0n : BigInt(row.last) + 1n,
    lowestLeased: row.lowest === null ? null : BigInt(row.lowest),
    room: row.room,
    asked: row.taken,
    watched: lane.watched,
    nextMs: 0,
    taken: row.taken,
    limited: false,
    stuck: row.stuck,
    rewound: lane.rewound,
  }
}
