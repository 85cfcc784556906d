/**
 * Which lanes to try next, and from where.
 *
 *   idle ──offer──► queued ──next──► trying ──report──► queued (more may be there) | resting (locked, closed, full) | idle
 *
 * Watermarks. Dead index entries pile up at a lane's low end when vacuum cannot keep up, and a claim from the first ticket
 * walks them all. So a lane is claimed from a ticket below which nothing ready is left:
 *   safe   certain: a claim that began at the former `safe` saw all below it, and every ticket below the mark was committed
 *   fast   one past the last taken: a slow transaction may still bring a lower one
 * A claim from `fast` never moves `safe`; a lane found by the sweep goes back to `safe`, and one found by the sweep from
 * the first ticket goes back to zero.
 */
export type LaneAim = { endpointId: string; readyFrom: bigint; leasedFrom: bigint }

export type LaneReport = {
  endpointId: string
  taken: number
  asked: number
  room: number
  nextReady: bigint
  lowestLeased: bigint | null
}

export type LaneBook = {
  /** The lane may have work, or (own) room again. `found`: by whom; a sweep lowers the watermark. */
  offer(endpointId: string, found: 'doorbell' | 'sweep' | 'sweep-all' | 'own'): void
  /** The lane is left alone for `ms`, then tried, whoever offers it meanwhile. */
  hold(endpointId: string, ms: number): void
  /** Up to `count` lanes to try now. Each must be reported or missed. */
  next(count: number, mode: 'safe' | 'fast'): LaneAim[]
  /** What a claim found at a lane it had locked. `mark`: safe before the claim began; `newest`: the last ticket then. */
  report(report: LaneReport, mode: 'safe' | 'fast', mark: bigint, newest: bigint, limited: boolean): void
  /** The lane could not be locked, is not enabled, or is blocked. */
  miss(endpointId: string): void
  /** A claim failed as a whole: its lanes are tried again. */
  restore(aims: readonly LaneAim[]): void
  queued(): number
  stop(): void
}

type Lane = {
  id: string
  safe: bigint
  fast: bigint
  leasedFrom: bigint
  state: 'idle' | 'queued' | 'trying' | 'resting'
  /** Offered while it was being tried. */
  again: boolean
  /** How many times in a row it could not be claimed from: locked, closed or blocked. */
  misses: number
  /** How many times in a row it was at its cap. */
  full: number
  heldUntil: number
  timer: NodeJS.Timeout | undefined
}

/** Idle lanes remembered; beyond it the oldest are forgotten, which costs them a claim from the first ticket. */
const maxLanes = 200_000
const maxRestMs = 15_000

/** @param deps `now`: milliseconds, monotonic */
export function createLaneBook(deps: { random: () => number; now: () => number; onQueued: () => void }): LaneBook {
  const { random, now, onQueued } = deps
  const lanes = new Map<string, Lane>()
  let queue: Lane[] = []
  let head = 0
  let stopped = false

  function laneOf(id: string): Lane {
    let lane = lanes.get(id)
    if (lane === undefined) {
      if (lanes.size >= maxLanes) forgetIdle()
      lane = {
        id,
        safe: 0n,
        fast: 0n,
        leasedFrom: 0n,
        state: 'idle',
        again: false,
        misses: 0,
        full: 0,
        heldUntil: 0,
        timer: undefined,
      }
      lanes.set(id, lane)
    }
    return lane
  }

  function forgetIdle(): void {
    let left = maxLanes / 10
    for (const [id, lane] of lanes) {
      if (lane.state !== 'idle') continue
      lanes.delete(id)
      if (--left <= 0) return
    }
  }

  function enqueue(lane: Lane): void {
    clearTimeout(lane.timer)
    lane.timer = undefined
    lane.state = 'queued'
    queue.push(lane)
    onQueued()
  }

  function rest(lane: Lane, ms: number): void {
    if (stopped) return
    lane.state = 'resting'
    lane.timer = setTimeout(() => enqueue(lane), ms)
  }

  return {
    offer(endpointId, found) {
      if (stopped) return
      const lane = laneOf(endpointId)
      if (found === 'sweep' && lane.state === 'idle') lane.fast = lane.safe
      if (found === 'sweep-all' && lane.state === 'idle') lane.fast = lane.safe = 0n
      if (lane.state === 'trying') lane.again = true
      else if (lane.state === 'idle') {
        // A settle makes room, not work.
        if (found !== 'own') enqueue(lane)
      } else if (lane.state === 'resting' && lane.full > 0 && found === 'own') enqueue(lane)
      else if (lane.state === 'resting' && found === 'doorbell' && lane.misses > 4) {
        // It may have been resumed or unblocked: worth a look before its rest is over.
        lane.misses = 4
        enqueue(lane)
      }
    },
    hold(endpointId, ms) {
      if (stopped) return
      const lane = laneOf(endpointId)
      lane.heldUntil = Math.max(lane.heldUntil, now() + ms)
      if (lane.state === 'idle') rest(lane, ms)
      else lane.again = true
    },
    next(count, mode) {
      const aims: LaneAim[] = []
      while (aims.length < count && head < queue.length) {
        const lane = queue[head++]!
        const heldMs = lane.heldUntil - now()
        if (heldMs > 0) {
          rest(lane, heldMs)
          continue
        }
        lane.state = 'trying'
        lane.again = false
        aims.push({
          endpointId: lane.id,
          readyFrom: mode === 'safe' ? lane.safe : lane.fast,
          leasedFrom: lane.leasedFrom,
        })
      }
      if (head > 1024 && head * 2 > queue.length) {
        queue = queue.slice(head)
        head = 0
      }
      return aims
    },
    report(report, mode, mark, newest, limited) {
      const lane = laneOf(report.endpointId)
      lane.misses = 0
      const drained = report.taken < report.asked && !limited
      if (mode === 'safe') {
        // Emptied, nothing is left below the mark; else what is left begins where the taking ended.
        const below = drained ? mark : report.nextReady < mark ? report.nextReady : mark
        if (below > lane.safe) lane.safe = below
      }
      if (report.nextReady > lane.fast) lane.fast = report.nextReady
      if (lane.safe > lane.fast) lane.fast = lane.safe
      lane.leasedFrom = report.lowestLeased ?? (newest > lane.leasedFrom ? newest : lane.leasedFrom)
      lane.full = report.room <= 0 ? lane.full + 1 : 0
      if (lane.full > 0 && !lane.again) {
        // At its cap: our own settles offer it again at once; those of other dispatchers do not.
        rest(lane, Math.round((16 << Math.min(lane.full, 6)) * (0.5 + random())))
      } else if (drained && !lane.again) {
        lane.state = 'idle'
        // Last in the map, so that forgetting begins with those idle longest.
        lanes.delete(lane.id)
        lanes.set(lane.id, lane)
      } else enqueue(lane)
    },
    miss(endpointId) {
      const lane = laneOf(endpointId)
      lane.misses++
      // Locked by another claim is over in milliseconds; disabled or blocked lasts.
      rest(lane, Math.min(maxRestMs, Math.round((4 << Math.min(lane.misses, 12)) * (0.5 + random()))))
    },
    restore(aims) {
      for (const aim of aims) enqueue(laneOf(aim.endpointId))
    },
    queued: () => queue.length - head,
    stop() {
      stopped = true
      for (const lane of lanes.values()) clearTimeout(lane.timer)
      lanes.clear()
      queue = []
      head = 0
    },
  }
}
