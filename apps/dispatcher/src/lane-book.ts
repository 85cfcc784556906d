/**
 * Which lanes to try next, and from where.
 *
 *   idle ──offer──► queued ──next──► trying ──report──► queued (more may be there) | resting (locked, closed, full) | idle
 *
 * Watermarks. Dead index entries pile up at a lane's low end when vacuum cannot keep up, and a claim from the first ticket
 * walks them all. So a lane is claimed from a ticket below which nothing ready is left:
 *   safe   certain: a claim that began at the former `safe` saw all below it, and every ticket below the mark was committed
 *   fast   one past the last taken: a slow transaction may still bring a lower one
 * A claim from `fast` never moves `safe`. What the sweep sees at a lane may lie below `fast`, so the lane is not idle again
 * before a claim has looked from `safe`; what the sweep from the first ticket sees, before one has looked from there.
 *
 * An ordered lane is always claimed from `safe`: what a slow transaction brings late must not be overtaken by what was published
 * after it. A claim that finds another `rewound` there has looked from the first ticket, and nothing known before counts.
 */
export type LaneAim = {
  endpointId: string
  readyFrom: bigint
  leasedFrom: bigint
  most?: number
  /** For an ordered lane: see the claim. */
  safeFrom?: bigint
  rewound?: number | null
}

export type LaneReport = {
  endpointId: string
  taken: number
  asked: number
  room: number
  nextReady: bigint
  lowestLeased: bigint | null
  /** A strict lane whose head waits for its retry. */
  stuck?: boolean
  /** Of an ordered lane; null of one without order. */
  rewound?: number | null
}

export type LaneBook = {
  /** The lane may have work, or (own) room again. `found`: by whom. */
  offer(endpointId: string, found: 'doorbell' | 'sweep' | 'sweep-all' | 'own'): void
  /** The lane is left alone for `ms`, then tried, whoever offers it meanwhile. */
  hold(endpointId: string, ms: number): void
  /** The database blocks the lane for `ms`. As `hold`, but that a sweep which sees it open again ends it. */
  block(endpointId: string, ms: number): void
  /** A lane handed out by `next` is not tried after all, for it has as many in flight here as it may: as if at its cap. */
  defer(endpointId: string): void
  /** Up to `count` lanes to try now, those first that the last claim's limit cut off. Each must be reported, missed or restored. */
  next(count: number, mode: 'safe' | 'fast'): LaneAim[]
  /**
   * What a claim found at a lane it had locked. `mark`: safe before the claim began; `newest`: the last ticket then.
   * `limited`: the claim took as many as it may, and so may have left some of this lane.
   */
  report(report: LaneReport, mark: bigint, newest: bigint, limited: boolean): void
  /** The lane could not be locked, is not enabled, or is blocked. */
  miss(endpointId: string): void
  /** A claim failed as a whole: its lanes are tried again. */
  restore(aims: readonly LaneAim[]): void
  queued(): number
  /** The lane's last claim filled it: it waits for settles. */
  isFull(endpointId: string): boolean
  stop(): void
}

/** What a sweep saw at a lane that was not idle, and no claim has looked for yet. */
type Seen = 'nothing' | 'above-safe' | 'anywhere'

type Lane = {
  id: string
  safe: bigint
  fast: bigint
  leasedFrom: bigint
  /** See LaneReport. */
  rewound: number | null
  seen: Seen
  /** The claim under way looks from `safe`, and what had been seen when it began. */
  fromSafe: boolean
  seenBefore: Seen
  state: 'idle' | 'queued' | 'trying' | 'resting'
  /** Offered while it was being tried. */
  again: boolean
  /** How many times in a row it could not be claimed from: locked, closed or blocked. */
  misses: number
  /** How many times in a row it was at its cap, or its share of our slots. */
  full: number
  /** The last claim took all that its cap allows. */
  filled: boolean
  heldUntil: number
  blockedUntil: number
  timer: NodeJS.Timeout | undefined
}

/** Idle lanes remembered; beyond it the oldest are forgotten, which costs them a claim from the first ticket. */
const maxLanes = 200_000
const maxRestMs = 15_000
/** After so many misses in a row a lane has been closed for a minute or more: the doorbell and the sweep find it again. */
const maxMisses = 15

/** @param deps `now`: milliseconds, monotonic */
export function createLaneBook(deps: { random: () => number; now: () => number; onQueued: () => void }): LaneBook {
  const { random, now, onQueued } = deps
  const lanes = new Map<string, Lane>()
  let queue: Lane[] = []
  let head = 0
  // Cut off by a claim's limit. Behind the others they would be cut off again, by those that were served.
  let passedOver: Lane[] = []
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
        rewound: null,
        seen: 'nothing',
        fromSafe: false,
        seenBefore: 'nothing',
        state: 'idle',
        again: false,
        misses: 0,
        full: 0,
        filled: false,
        heldUntil: 0,
        blockedUntil: 0,
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

  function enqueue(lane: Lane, line = queue): void {
    if (stopped) return
    clearTimeout(lane.timer)
    lane.timer = undefined
    lane.state = 'queued'
    line.push(lane)
    onQueued()
  }

  function rest(lane: Lane, ms: number): void {
    if (stopped) return
    lane.state = 'resting'
    lane.timer = setTimeout(() => enqueue(lane), ms)
  }

  function see(lane: Lane, seen: Seen): void {
    if (lane.seen !== 'anywhere' && seen !== 'nothing') lane.seen = seen
  }

  /** The next claim looks for what was seen. */
  function lower(lane: Lane, seen: Seen): void {
    if (seen === 'anywhere') lane.safe = 0n
    if (seen !== 'nothing') lane.fast = lane.safe
  }

  /** Our own settles offer it again at once; those of other dispatchers do not. */
  function atCap(lane: Lane): void {
    lane.full++
    rest(lane, Math.round((16 << Math.min(lane.full, 6)) * (0.5 + random())))
  }

  function makeIdle(lane: Lane): void {
    lane.state = 'idle'
    // Last in the map, so that forgetting begins with those idle longest.
    lanes.delete(lane.id)
    lanes.set(lane.id, lane)
  }

  return {
    offer(endpointId, found) {
      if (stopped) return
      const lane = laneOf(endpointId)
      if (lane.blockedUntil > 0 && (found === 'sweep' || found === 'sweep-all')) {
        const blockedMs = lane.blockedUntil - now()
        lane.blockedUntil = 0
        if (blockedMs > 0 && lane.state === 'resting' && lane.heldUntil <= now()) enqueue(lane)
      }
      const seen = found === 'sweep' ? 'above-safe' : found === 'sweep-all' ? 'anywhere' : 'nothing'
      if (lane.state === 'idle') lower(lane, seen)
      else see(lane, seen)
      if (lane.state === 'trying') lane.again ||= seen === 'nothing'
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
    block(endpointId, ms) {
      if (stopped) return
      const lane = laneOf(endpointId)
      lane.blockedUntil = Math.max(lane.blockedUntil, now() + ms)
      if (lane.state === 'idle') rest(lane, ms)
      else lane.again = true
    },
    defer(endpointId) {
      if (stopped) return
      const lane = laneOf(endpointId)
      see(lane, lane.seenBefore)
      atCap(lane)
    },
    next(count, mode) {
      const aims: LaneAim[] = []
      while (aims.length < count) {
        const lane = passedOver.shift() ?? queue[head++]
        if (lane === undefined) {
          head = queue.length
          break
        }
        const heldMs = Math.max(lane.heldUntil, lane.blockedUntil) - now()
        if (heldMs > 0) {
          rest(lane, heldMs)
          continue
        }
        lane.state = 'trying'
        lane.again = false
        const readyFrom = mode === 'safe' || lane.rewound !== null ? lane.safe : lane.fast
        lane.fromSafe = readyFrom <= lane.safe
        lane.seenBefore = lane.seen
        if (readyFrom === 0n || (lane.fromSafe && lane.seen === 'above-safe')) lane.seen = 'nothing'
        aims.push({
          endpointId: lane.id,
          readyFrom,
          leasedFrom: lane.leasedFrom,
          safeFrom: lane.safe,
          rewound: lane.rewound,
        })
      }
      if (head > 1024 && head * 2 > queue.length) {
        queue = queue.slice(head)
        head = 0
      }
      return aims
    },
    report(report, mark, newest, limited) {
      if (stopped) return
      const lane = laneOf(report.endpointId)
      lane.misses = 0
      const { rewound = null, stuck = false } = report
      if (rewound !== lane.rewound) {
        // It was looked at from the first ticket; one that is not ordered any more, from where it was, and so not safely.
        lane.safe = 0n
        lane.fast = 0n
        lane.fromSafe = rewound !== null
        lane.rewound = rewound
      }
      if (stuck) {
        lane.full = 0
        // Whoever makes its head ready, or ends it, offers it.
        if (lane.again) enqueue(lane)
        else makeIdle(lane)
        return
      }
      const short = report.taken < report.asked
      const drained = short && !limited
      if (lane.fromSafe) {
        // Emptied, nothing is left below the mark; else what is left begins where the taking ended.
        const below = drained ? mark : report.nextReady < mark ? report.nextReady : mark
        if (below > lane.safe) lane.safe = below
        // What was left may lie below `fast` as well; and where nothing was looked for, nothing was found to be absent.
        if (!drained && report.taken > 0) lane.fast = report.nextReady
        else if (!drained) see(lane, lane.seenBefore)
      }
      if (report.nextReady > lane.fast) lane.fast = report.nextReady
      if (lane.safe > lane.fast) lane.fast = lane.safe
      lane.leasedFrom = report.lowestLeased ?? (newest > lane.leasedFrom ? newest : lane.leasedFrom)
      if (report.room > 0 || report.taken > 0) lane.full = 0
      lane.filled = report.taken >= report.room
      if (report.room <= 0 && !lane.again) {
        atCap(lane)
      } else if (!drained) {
        enqueue(lane, short ? passedOver : queue)
      } else if (lane.again) {
        enqueue(lane)
      } else if (lane.seen !== 'nothing') {
        lower(lane, lane.seen)
        enqueue(lane)
      } else makeIdle(lane)
    },
    miss(endpointId) {
      if (stopped) return
      const lane = laneOf(endpointId)
      see(lane, lane.seenBefore)
      // Locked by another claim is over in milliseconds; disabled or blocked lasts.
      if (++lane.misses <= maxMisses) {
        rest(lane, Math.min(maxRestMs, Math.round((4 << Math.min(lane.misses, 12)) * (0.5 + random()))))
        return
      }
      lane.misses = 0
      lower(lane, lane.seen === 'nothing' ? 'above-safe' : lane.seen)
      lane.seen = 'nothing'
      makeIdle(lane)
    },
    restore(aims) {
      if (stopped) return
      for (const aim of aims) {
        const lane = laneOf(aim.endpointId)
        see(lane, lane.seenBefore)
        enqueue(lane)
      }
    },
    queued: () => passedOver.length + queue.length - head,
    isFull: (endpointId) => lanes.get(endpointId)?.filled === true,
    stop() {
      stopped = true
      for (const lane of lanes.values()) clearTimeout(lane.timer)
      lanes.clear()
      queue = []
      passedOver = []
      head = 0
    },
  }
}
