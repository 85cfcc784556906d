import type { LaneAim } from './lane-book.ts'

/**
 * Shares out a dispatcher's slots, so that no lane and no crowd of hanging lanes can fill it.
 *
 *   a lane            at most a quarter of the slots
 *   slow lanes        together at most half: an attempt of theirs is older than a second, and none has succeeded for ten
 *   failing lanes     together at most an eighth: their last attempt here failed. A refused connection frees its slot at
 *                     once, and costs as much CPU as a delivery: without a share of their own, a hundred dead lanes keep the
 *                     process busy until their breakers trip (p99 of the others 500 ms for three seconds; with it, for less than one)
 *   unproven lanes    together with the slow and the failing at most three quarters: no attempt has come back yet. A hundred
 *                     lanes that hang from the first attempt on are not slow before a second has passed
 *   all others        what is there
 *
 * Each share is at least one slot. And so that trouble begins as a trickle, and not as a burst that everybody waits behind:
 *
 *   an unproven lane  at most four at once, and one whose last attempt failed at most two, until one succeeds
 *   a claim           at most a quarter of its rows from lanes that are not proven, or slow
 */
export type Bulkhead = {
  /** A lease is ours: its slot is taken. */
  take(endpointId: string, ticket: string): void
  /** Its slot is free. `health`: what the attempt said of the endpoint's. */
  land(endpointId: string, ticket: string, health: 'good' | 'bad' | 'unknown'): void
  /**
   * How many each of these lanes may have in a claim of `limit` at most. A lane that may have none is left out.
   * Where a share is nearly used up, the lanes that draw on it get equal parts of what is left. What is allotted counts as
   * used until `end` is called, after the claim's leases were taken: claims may run side by side.
   */
  allot(aims: readonly LaneAim[], limit: number): Allotment
  /** The lane has proved itself, and is not slow. */
  trusts(endpointId: string): boolean
}

export type Allotment = { aims: LaneAim[]; end(): void }

type Lane = {
  /** When the attempts in flight began, oldest first. */
  flying: Map<string, number>
  succeededAt: number
  last: 'good' | 'bad' | 'none'
}

type Kind = 'trusted' | 'unproven' | 'failing' | 'slow'
const doubtfulKinds = ['unproven', 'failing', 'slow'] as const

/** At once, of a lane that has not succeeded (yet, or any more). */
const mostOfLane = { unproven: 4, failing: 2, slow: Number.POSITIVE_INFINITY, trusted: Number.POSITIVE_INFINITY }
const oldMs = 1_000
const freshSuccessMs = 10_000
/** Idle lanes remembered; one that is forgotten has to prove itself again. */
const maxLanes = 100_000

/** @param deps `now`: milliseconds, monotonic */
export function createBulkhead(deps: { concurrency: number; now: () => number }): Bulkhead {
  const { concurrency, now } = deps
  const shareOf = (part: number): number => Math.max(1, Math.floor(concurrency * part))
  const laneShare = shareOf(1 / 4)
  const slowShare = shareOf(1 / 2)
  const failingShare = shareOf(1 / 8)
  const doubtfulShare = shareOf(3 / 4)
  const lanes = new Map<string, Lane>()
  const busy = new Set<Lane>()
  /** By claims under way, of lanes that are not trusted. */
  const allotted = { trusted: 0, unproven: 0, failing: 0, slow: 0 }

  function kindOf(lane: Lane | undefined, nowMs: number): Kind {
    if (lane === undefined) return 'unproven'
    const oldest = lane.flying.values().next().value
    if (oldest !== undefined && nowMs - oldest > oldMs && nowMs - lane.succeededAt > freshSuccessMs) return 'slow'
    return lane.last === 'good' ? 'trusted' : lane.last === 'bad' ? 'failing' : 'unproven'
  }

  function laneOf(endpointId: string): Lane {
    let lane = lanes.get(endpointId)
    if (lane === undefined) {
      if (lanes.size >= maxLanes) forgetIdle()
      lane = { flying: new Map(), succeededAt: Number.NEGATIVE_INFINITY, last: 'none' }
      lanes.set(endpointId, lane)
    }
    return lane
  }

  function forgetIdle(): void {
    let left = maxLanes / 10
    for (const [id, lane] of lanes) {
      if (lane.flying.size > 0) continue
      lanes.delete(id)
      if (--left <= 0) return
    }
  }

  /** Of `room` slots, equal parts to those that draw on them. */
  const partOf = (room: number, takers: number): number =>
    Math.max(1, Math.floor(Math.max(0, room) / Math.max(1, takers)))

  return {
    trusts: (endpointId) => kindOf(lanes.get(endpointId), now()) === 'trusted',
    take(endpointId, ticket) {
      const lane = laneOf(endpointId)
      lane.flying.set(ticket, now())
      busy.add(lane)
    },
    land(endpointId, ticket, health) {
      const lane = lanes.get(endpointId)
      if (lane === undefined) return
      lane.flying.delete(ticket)
      if (lane.flying.size === 0) busy.delete(lane)
      if (health === 'unknown') return
      lane.last = health
      if (health === 'good') lane.succeededAt = now()
    },
    allot(aims, limit) {
      const nowMs = now()
      const used = { ...allotted }
      for (const lane of busy) used[kindOf(lane, nowMs)] += lane.flying.size
      const wanting = { trusted: 0, unproven: 0, failing: 0, slow: 0 }
      const candidates = aims.map((aim) => {
        const lane = lanes.get(aim.endpointId)
        const kind = kindOf(lane, nowMs)
        const most = Math.min(limit, Math.min(laneShare, mostOfLane[kind]) - (lane?.flying.size ?? 0))
        if (most > 0) wanting[kind]++
        return { aim, kind, most }
      })
      const doubtfulRoom = Math.min(doubtfulShare - used.slow - used.failing - used.unproven, Math.max(1, limit >> 2))
      const left = {
        unproven: doubtfulRoom,
        failing: Math.min(doubtfulRoom, failingShare - used.failing),
        slow: Math.min(doubtfulRoom, slowShare - used.slow),
      }
      const drawing = (kind: 'failing' | 'slow'): number => (left[kind] > 0 ? wanting[kind] : 0)
      const doubtful = wanting.unproven + drawing('failing') + drawing('slow')
      // A kind that is held by what all doubtful lanes have together shares it with them all.
      const takersOf = (kind: 'failing' | 'slow'): number => (left[kind] === left.unproven ? doubtful : wanting[kind])
      const part = {
        unproven: partOf(left.unproven, doubtful),
        failing: partOf(left.failing, takersOf('failing')),
        slow: partOf(left.slow, takersOf('slow')),
      }
      const given = { unproven: 0, failing: 0, slow: 0 }
      const allowed = candidates.flatMap(({ aim, kind, most }) => {
        if (most <= 0) return []
        if (kind === 'trusted') return [{ ...aim, most }]
        const count = Math.min(most, part[kind], left[kind], left.unproven)
        if (count <= 0) return []
        given[kind] += count
        left[kind] -= count
        if (kind !== 'unproven') left.unproven -= count
        return [{ ...aim, most: count }]
      })
      for (const kind of doubtfulKinds) allotted[kind] += given[kind]
      const end = (): void => {
        for (const kind of doubtfulKinds) allotted[kind] -= given[kind]
      }
      return { aims: allowed, end }
    },
  }
}
