/**
 * Chooses between claiming from the safe watermark and from the fast one: safe while that costs little more, else fast,
 * with safe for a twentieth of the time, so that what a slow transaction brought late is found.
 */
export type ClaimMode = {
  next(): 'safe' | 'fast'
  /** `ms`: how long the claim took; `lanes`: how many it tried. */
  record(mode: 'safe' | 'fast', ms: number, lanes: number): void
}

const safeShare = 0.05
const weight = 0.1
/** What may be saved up, and what may be owed: a stall of the database in a safe claim is not paid for in hours. */
const mostSavedMs = 1_000
const mostOwedMs = 5_000

export function createClaimMode(): ClaimMode {
  const cost = { safe: 0, fast: 0 }
  let budgetMs = 0
  let turns = 0
  return {
    next() {
      turns++
      // Until both are known, and now and then afterwards, each is measured.
      if (cost.safe === 0) return 'safe'
      if (cost.fast === 0 || turns % 64 === 0) return 'fast'
      if (cost.safe <= cost.fast * 1.5) return 'safe'
      return budgetMs > 0 ? 'safe' : 'fast'
    },
    record(mode, ms, lanes) {
      const each = ms / Math.max(1, lanes)
      cost[mode] = cost[mode] === 0 ? each : cost[mode] * (1 - weight) + each * weight
      budgetMs += mode === 'safe' ? -ms : ms * safeShare
      budgetMs = Math.max(-mostOwedMs, Math.min(mostSavedMs, budgetMs))
    },
  }
}
