/** Token buckets, one for each key, in this process's memory. */
export type RequestRate = {
  /** Takes a token. @returns 0, or in how many milliseconds there will be one: then none was taken */
  take(key: string): number
  /** Gives back what `take` took. */
  giveBack(key: string): void
}

export type RequestRateOptions = {
  perSecond: number
  /** Tokens that a full bucket holds. */
  burst: number
  /** Keys remembered at most. The one that was asked for least recently is forgotten first, and begins anew. */
  maxKeys: number
  /** Milliseconds of a clock that never goes back. */
  now: () => number
}

/** As GCRA: of each bucket one number is kept, the moment at which it will be full again. */
export function createRequestRate({ perSecond, burst, maxKeys, now }: RequestRateOptions): RequestRate {
  const intervalMs = 1_000 / perSecond
  const fullAt = new Map<string, number>()

  return {
    take(key) {
      const at = now()
      const full = Math.max(fullAt.get(key) ?? at, at)
      const waitMs = full - at - (burst - 1) * intervalMs
      if (waitMs > 0) return Math.ceil(waitMs)
      // Put in anew, so that the map's order is that of the last use.
      fullAt.delete(key)
      fullAt.set(key, full + intervalMs)
      if (fullAt.size > maxKeys) fullAt.delete(fullAt.keys().next().value!)
      return 0
    },
    giveBack(key) {
      const full = fullAt.get(key)
      if (full !== undefined) fullAt.set(key, full - intervalMs)
    },
  }
}
