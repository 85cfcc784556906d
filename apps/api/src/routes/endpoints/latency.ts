/** Milliseconds. */
export type Latency = { p50: number; p95: number; p99: number }

/**
 * Percentiles by nearest rank: each is a duration that was really measured.
 * @param counts how often each duration (ms) was measured
 * @returns null when none was
 */
export function latencyOf(counts: ReadonlyMap<number, number>): Latency | null {
  const durations = [...counts].sort(([a], [b]) => a - b)
  const total = durations.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return null
  const percentile = (percent: number): number => {
    const rank = Math.ceil((total * percent) / 100)
    let passed = 0
    for (const [ms, count] of durations) {
      passed += count
      if (passed >= rank) return ms
    }
    throw new Error('not reached')
  }
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99) }
}
