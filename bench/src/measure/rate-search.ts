/** Looks for the highest rate that is kept up with: out by steps until there is one that is and one that is not, then between. */
export type RateSearch = {
  /** The rate to try next. */
  next(): number
  report(keptUp: boolean): void
  /** The highest that was kept up with; null while there is none. */
  best(): number | null
}

const step = 1.2

export function createRateSearch(start: number): RateSearch {
  let low: number | null = null
  let high: number | null = null
  let tried = start
  return {
    next: () => tried,
    report(keptUp) {
      if (keptUp) low = tried
      else high = tried
      if (high === null) tried *= step
      else if (low === null) tried /= step
      else tried = Math.sqrt(low * high)
    },
    best: () => low,
  }
}
