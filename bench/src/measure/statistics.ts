/** The middle value; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing')
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The value that so large a part of them lies at or below. NaN of nothing. */
export function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)] ?? Number.NaN
}

export function mean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no mean of nothing')
  return sum(values) / values.length
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
