import { build } from 'hdr-histogram-js'

export type Latency = { p50_ms: number; p90_ms: number; p99_ms: number; p999_ms: number; max_ms: number }

/**
 * How long it took from each moment of `from` to the one beside it in `to`, to three digits.
 * @throws when a moment is missing
 */
export function describeLatency(from: ArrayLike<number>, to: ArrayLike<number>): Latency {
  const histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 3_600_000_000,
    numberOfSignificantValueDigits: 3,
  })
  for (let at = 0; at < from.length; at++) {
    const us = Math.round((to[at]! - from[at]!) * 1_000)
    if (!Number.isFinite(us)) throw new Error(`the end of measurement ${at} is not known`)
    // Two processes read the clock some microseconds apart.
    histogram.recordValue(Math.max(0, us))
  }
  const at = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1_000
  return { p50_ms: at(50), p90_ms: at(90), p99_ms: at(99), p999_ms: at(99.9), max_ms: histogram.maxValue / 1_000 }
}
