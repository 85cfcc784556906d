/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing')
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no mean of nothing')
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** How far the runs lie apart: (highest - lowest) / median. 0 for a single run. */
export function spread(values: readonly number[]): number {
  const middle = median(values)
  const range = Math.max(...values) - Math.min(...values)
  return range === 0 ? 0 : range / Math.abs(middle)
}

/** So many significant digits, without an exponent. */
export function rounded(value: number, digits = 4): number {
  if (!Number.isFinite(value) || value === 0) return value
  if (Math.abs(value) >= 10 ** digits) return Math.round(value)
  return Number(value.toPrecision(digits))
}
