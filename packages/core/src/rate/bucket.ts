/**
 * A lane's rate limit as GCRA (the generic cell rate algorithm): one number, the moment at which the bucket would be full
 * again, stands for all of it. It stands in `lane.rate_next`, and is read and moved on by the claim under the lane's lock, so
 * that the limit holds over all dispatchers. What is reckoned with here is how far it lies ahead of the database's clock.
 */
export type Rate = {
  /** Microseconds between two tokens. */
  intervalUs: number
  /** Tokens that a full bucket holds: so many may go at once. */
  burst: number
}

/** For claims of several at once: so long a limited lane may rest past its next token. */
const gatherUs = 50_000

/**
 * The bucket for `limit` attempts in `perSeconds`. It holds one token and what comes in a tenth of a second: what a claim
 * that comes a few milliseconds late needs in order to lose nothing. In any `t` seconds at most `t * limit / perSeconds + burst`
 * attempts begin.
 */
export function rateOf(limit: number, perSeconds: number): Rate {
  return { intervalUs: Math.ceil((perSeconds * 1_000_000) / limit), burst: 1 + Math.floor(limit / perSeconds / 10) }
}

/** Tokens that are there, `aheadUs` before the bucket is full; below 0 it has been full for so long. */
export function tokensIn({ intervalUs, burst }: Rate, aheadUs: number): number {
  return Math.max(0, Math.floor((burst * intervalUs - Math.max(0, aheadUs)) / intervalUs))
}

/** @returns microseconds until the bucket is full once `count` tokens are taken */
export function takeTokens({ intervalUs }: Rate, aheadUs: number, count: number): number {
  return Math.max(0, aheadUs) + count * intervalUs
}

/** @returns milliseconds until a claim is worth while: 0 while a token is there; else until the next, or the next few */
export function waitForTokens(rate: Rate, aheadUs: number): number {
  if (tokensIn(rate, aheadUs) > 0) return 0
  const { intervalUs, burst } = rate
  const wanted = Math.max(1, Math.min(Math.floor(burst / 2), Math.floor(gatherUs / intervalUs)))
  return Math.ceil((aheadUs - (burst - wanted) * intervalUs) / 1000)
}
