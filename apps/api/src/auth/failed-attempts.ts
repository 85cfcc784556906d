import { createRequestRate } from '../http/request-rate.ts'

/** Tokens that turn out to be none: from one address, and in all. */
const perAddress = { perSecond: 20, burst: 200, maxKeys: 20_000 }
const inAll = { perSecond: 200, burst: 1_000, maxKeys: 1 }
const all = 'all'

export type FailedAttempts = {
  /** Counts one that may be about to fail. @returns 0, or in how many milliseconds another may be made: then it was not counted */
  begin(address: string): number
  /** It did not fail. */
  forgive(address: string): void
}

/**
 * Bounds how many unknown tokens are looked for in the database, so that guessing costs it nothing worth mention. What it bounds
 * is work: a token of 32 random bytes cannot be guessed.
 */
export function createFailedAttempts(now: () => number = () => performance.now()): FailedAttempts {
  const byAddress = createRequestRate({ ...perAddress, now })
  const together = createRequestRate({ ...inAll, now })
  return {
    begin(address) {
      const network = networkOf(address)
      const waitMs = byAddress.take(network)
      if (waitMs > 0) return waitMs
      const allWaitMs = together.take(all)
      if (allWaitMs > 0) byAddress.giveBack(network)
      return allWaitMs
    },
    forgive(address) {
      byAddress.giveBack(networkOf(address))
      together.giveBack(all)
    },
  }
}

/** Whoever has one address of IPv6 has 2^64 of them: the first half stands for all. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  return address.split('::', 1)[0]!.split(':').slice(0, 4).join(':')
}
