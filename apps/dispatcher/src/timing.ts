/** The lease protocol's clockwork: see docs/architecture.md. All in milliseconds. */
export type Timing = {
  /** How often a heartbeat is written. */
  heartbeatMs: number
  /** Without an answer to a heartbeat for this long, a dispatcher aborts its attempts and claims no more. */
  abortAfterMs: number
  /** A dispatcher whose heartbeat is this old has lost its leases. Longer than `abortAfterMs`, so that none is held twice. */
  silentMs: number
  /** How long a lease outlives its endpoint's time-out: the room that a settle has. */
  graceMs: number
  /** How often is looked for lost leases, deliveries that are due, lanes that drain or change their ordering, and jobs. */
  lookoutMs: number
  /** How often, at least, those look for themselves. */
  unaskedMs: number
  /** How long after the database's start no lease is taken back: settles that its outage held up come first. */
  startGraceMs: number
  /** Shortest time between two sweeps. */
  sweepMs: number
  /** How often the sweep looks from the first ticket on, whatever the marks say. */
  sweepAllMs: number
  /** How often, at most, the lanes where deliveries wait are gone through for those that are too old. */
  expireMs: number
  partitionsMs: number
  vacuumMs: number
  keysMs: number
  /** How long a stop waits for attempts in flight; above the longest time-out of an endpoint none is ever cut. */
  stopMs: number
}

export const defaultTiming: Timing = Object.freeze({
  heartbeatMs: 1_000,
  abortAfterMs: 10_000,
  silentMs: 14_000,
  graceMs: 15_000,
  lookoutMs: 500,
  unaskedMs: 30_000,
  startGraceMs: 15_000,
  sweepMs: 250,
  sweepAllMs: 30_000,
  expireMs: 60_000,
  partitionsMs: 600_000,
  vacuumMs: 5_000,
  keysMs: 60_000,
  stopMs: 25_000,
})
