/**
 * The breaker of one lane, as a pure decision. The settle statement (sql/delivery-settle.ts) decides the same in SQL, on the
 * database's clock; test/sql/breaker-model.test.ts holds the two together.
 *
 *   closed ──10 failures in a row, or half of 20 and more in a minute──► open ──block passed──► half open
 *     ▲  ramping up from 2                                                ▲                     one probe
 *     │                                                                   └───────failure──────────┤
 *     └──────────────────────────────────────────success───────────────────────────────────────────┘
 *
 *   closed     nothing, or `rampCap`, holds the lane back
 *   open       `probing`, and `blockedUntilMs` to come: nothing is claimed, so that what waits spends no attempts
 *   half open  `probing`, and the block has passed: one attempt at a time, over all dispatchers
 */
export type Breaker = {
  /** Failures since the last success. */
  failuresInARow: number
  /** When the window began over which the rate of failures is reckoned; null for none. */
  windowStartedAtMs: number | null
  windowAttempts: number
  windowFailures: number
  /** Blocks since the lane was last closed: each is twice as long as the one before. */
  trips: number
  /** Open or half open. */
  probing: boolean
  /** Nothing is claimed before. */
  blockedUntilMs: number | null
  /** Attempts in flight at most while the lane recovers; null for all of its max_in_flight. */
  rampCap: number | null
  /** The first failure since the last success. */
  failingSinceMs: number | null
}

/** What one settle has of one lane. Faults of Posthorn's own are in none of these. */
export type Tally = {
  successes: number
  failures: number
  /** Of the failures, those that came after the last success. */
  failuresSinceSuccess: number
  /** A failure was that of a lease taken while the lane was probing. */
  probeFailed: boolean
  /** 429, 502, 503 or 504 was answered. */
  throttled: boolean
  /** Milliseconds of the longest Retry-After; 0 for none. */
  laneWaitMs: number
}

export type BreakerStep = {
  breaker: Breaker
  /** What is told: the lane fails (`tripped`), or is whole again (`closed`). */
  change: 'tripped' | 'closed' | null
  /** Without a success for so long that the endpoint is disabled. */
  disable: boolean
}

export const breakerLimits = Object.freeze({
  failuresInARow: 10,
  windowMs: 60_000,
  windowAttempts: 20,
  firstBlockMs: 5_000,
  longestBlockMs: 900_000,
  firstRampCap: 2,
})

export const closedBreaker: Breaker = Object.freeze({
  failuresInARow: 0,
  windowStartedAtMs: null,
  windowAttempts: 0,
  windowFailures: 0,
  trips: 0,
  probing: false,
  blockedUntilMs: null,
  rampCap: null,
  failingSinceMs: null,
})

/** Whether successes matter to the lane: where this is false they need not be told to it. */
export function isWatched(breaker: Breaker): boolean {
  return (
    breaker.probing ||
    breaker.rampCap !== null ||
    breaker.failuresInARow > 0 ||
    breaker.windowStartedAtMs !== null ||
    breaker.failingSinceMs !== null
  )
}

/** @returns milliseconds of the block that follows this trip (from 1): 5 s, doubled each time, 15 min at most, each ±20 % */
export function blockMs(trips: number, random: () => number): number {
  const { firstBlockMs, longestBlockMs } = breakerLimits
  return Math.min(longestBlockMs, firstBlockMs * 2 ** Math.min(trips - 1, 20)) * (0.8 + 0.4 * random())
}

/** What a settle makes of a lane that is not closed to begin with. */
export function settleBreaker(
  before: Breaker,
  tally: Tally,
  at: { nowMs: number; maxInFlight: number; disableAfterMs: number; random: () => number },
): BreakerStep {
  const { nowMs, maxInFlight } = at
  const { successes, failures } = tally
  const after: Breaker = { ...before }
  if (successes > 0) {
    after.failuresInARow = tally.failuresSinceSuccess
    after.failingSinceMs = tally.failuresSinceSuccess > 0 ? nowMs : null
  } else if (failures > 0) {
    after.failuresInARow += failures
    after.failingSinceMs ??= nowMs
  }

  let change: BreakerStep['change'] = null
  let blocks = false
  if (!before.probing) {
    countInWindow(after, tally, nowMs)
    // A success alone never trips, though it may be the twentieth attempt.
    if (failures > 0 && isTripped(after)) {
      change = 'tripped'
      blocks = true
      after.probing = true
      clearWindow(after)
    } else {
      after.rampCap = rampCapAfter(before.rampCap, tally, maxInFlight)
    }
  } else if ((before.blockedUntilMs ?? 0) <= nowMs) {
    // Failures of attempts that were in flight when the lane tripped prolong nothing: only the probe's does.
    if (tally.probeFailed) blocks = true
    else if (successes > 0) {
      change = 'closed'
      after.probing = false
      after.trips = 0
      after.blockedUntilMs = null
      after.rampCap = maxInFlight > breakerLimits.firstRampCap ? breakerLimits.firstRampCap : null
      clearWindow(after)
    }
  }
  if (blocks) {
    after.trips = before.trips + 1
    after.blockedUntilMs = Math.max(after.blockedUntilMs ?? 0, nowMs + blockMs(after.trips, at.random))
  }
  if (tally.laneWaitMs > 0) after.blockedUntilMs = Math.max(after.blockedUntilMs ?? 0, nowMs + tally.laneWaitMs)
  const disable =
    failures > 0 &&
    successes === 0 &&
    before.failingSinceMs !== null &&
    before.failingSinceMs < nowMs - at.disableAfterMs
  return { breaker: after, change, disable }
}

/** The window begins at a failure, and ends by its length: then a failure begins another. */
function countInWindow(after: Breaker, { successes, failures }: Tally, nowMs: number): void {
  const running = after.windowStartedAtMs !== null && nowMs < after.windowStartedAtMs + breakerLimits.windowMs
  if (running) {
    after.windowAttempts += successes + failures
    after.windowFailures += failures
  } else if (failures > 0) {
    after.windowStartedAtMs = nowMs
    after.windowAttempts = successes + failures
    after.windowFailures = failures
  } else clearWindow(after)
}

function clearWindow(after: Breaker): void {
  after.windowStartedAtMs = null
  after.windowAttempts = 0
  after.windowFailures = 0
}

function isTripped({ failuresInARow, windowAttempts, windowFailures }: Breaker): boolean {
  return (
    failuresInARow >= breakerLimits.failuresInARow ||
    (windowAttempts >= breakerLimits.windowAttempts && windowFailures * 2 >= windowAttempts)
  )
}

/** Halved by throttling, once a settle; doubled by a settle of successes alone, until it holds nothing back. */
function rampCapAfter(cap: number | null, tally: Tally, maxInFlight: number): number | null {
  if (tally.throttled) return Math.max(1, Math.floor(Math.min(cap ?? maxInFlight, maxInFlight) / 2))
  if (cap === null || tally.successes === 0 || tally.failures > 0) return cap
  return cap * 2 >= maxInFlight ? null : cap * 2
}
