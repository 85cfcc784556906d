export {
  type Breaker,
  type BreakerStep,
  blockMs,
  breakerLimits,
  closedBreaker,
  isWatched,
  settleBreaker,
  type Tally,
} from './breaker.ts'
