import type { LaneAim } from './lane-book.ts'

/**
 * Shares out a dispatcher's slots, so that no lane and no crowd of hanging lanes can fill it.
 *
 *   a lane            at most a quarter of the slots
 *   slow lanes        together at most half: an attempt of theirs is older than a second, and none has succeeded for ten
 *   unproven lanes    together with the slow at most three quarters: their last attempt here did not succeed, or there was
 *                     none. A hundred lanes that hang from the first attempt on are not slow before a second has passed
 *   all others        what is there
 *
 * Each share is at least one slot.
 */
export type Bulkhead = {
  /** A lease is ours: its slot is taken. */
  take(endpointId: string, ticket: string): void
  /** Its slot is free. `health`: what the attempt said of the endpoint's. */
  land(endpointId: string, ticket: string, health: 'good' | 'bad' | 'unknown'): void
  /**
   * How many each of these lanes may have in a claim of `limit` at most. A lane that may have none is left out.
   * Where a share is nearly used up, the lanes that draw on it get equal parts of what is left.
   */
  allot(aims: readonly LaneAim[], limit: number): LaneAim[]
}

type Lane = {
  /** When the attempts in flight began, oldest first. */
  flying: Map<string, number>
  succeededAt: number
  proven: boolean
}

type Kind = 'trusted' | 'unproven' | 'slow'

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
  const doubtfulShare = shareOf(3 / 4)
  const lanes = new Map<string, Lane>()
  const busy = new Set<Lane>()

  function kindOf(lane: Lane | undefined, nowMs: number): Kind {
    if (lane === undefined) return 'unproven'
    const oldest = lane.flying.values().next().value
    if (oldest !== undefined && nowMs - oldest > oldMs && nowMs - lane.succeededAt > freshSuccessMs) return 'slow'
    return lane.proven ? 'trusted' : 'unproven'
  }

  function laneOf(endpointId: string): Lane {
    let lane = lanes.get(endpointId)
    if (lane === undefined) {
      if (lanes.size >= maxLanes) forgetIdle()
      lane = { flying: new Map(), succeededAt: Number.NEGATIVE_INFINITY, proven: false }
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

  /** Of `room` slots, equal parts to those that draw on them; `limit` is all that a claim can take. */
  function partOf(room: number, limit: number, takers: number): number {
    return room >= limit ? limit : Math.max(1, Math.floor(Math.max(0, room) / Math.max(1, takers)))
  }

  return {
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
      lane.proven = health === 'good'
      if (lane.proven) lane.succeededAt = now()
    },
    allot(aims, limit) {
      const nowMs = now()
      const used = { trusted: 0, unproven: 0, slow: 0 }
      for (const lane of busy) used[kindOf(lane, nowMs)] += lane.flying.size
      const wanting = { trusted: 0, unproven: 0, slow: 0 }
      const candidates = aims.map((aim) => {
        const lane = lanes.get(aim.endpointId)
        const kind = kindOf(lane, nowMs)
        const most = Math.min(limit, laneShare - (lane?.flying.size ?? 0))
        if (most > 0) wanting[kind]++
        return { aim, kind, most }
      })
      const doubtfulRoom = doubtfulShare - used.slow - used.unproven
      const left = { trusted: limit, unproven: doubtfulRoom, slow: Math.min(doubtfulRoom, slowShare - used.slow) }
      const part = {
        trusted: limit,
        unproven: partOf(left.unproven, limit, wanting.unproven + wanting.slow),
        slow: partOf(left.slow, limit, wanting.slow + (left.slow === left.unproven ? wanting.unproven : 0)),
      }
      return candidates.flatMap(({ aim, kind, most }) => {
        if (most <= 0) return []
        if (kind === 'trusted' || left[kind] >= limit) return [{ ...aim, most }]
        const given = Math.min(most, part[kind], left[kind], left.unproven)
        if (given <= 0) return []
        left[kind] -= given
        if (kind === 'slow') left.unproven -= given
        return [{ ...aim, most: given }]
      })
    },
  }
}
