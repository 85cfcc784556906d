import { delayAfter, parseRetryAfter } from '@posthorn/core'
import { type Lease, outcomeCode, type Settlement, stateCode } from '@posthorn/core/sql'
import type { Outcome } from './sender/index.ts'

/** The part of a settlement that is decided by what came back. */
export type Verdict = Pick<
  Settlement,
  'outcome' | 'state' | 'reason' | 'step' | 'fresh' | 'waitMs' | 'laneWaitMs' | 'gone'
>

/** Statuses by which a receiver says that it is overloaded: with Retry-After, its whole lane waits. */
const throttling = new Set([429, 502, 503, 504])
const maxLaneWaitMs = 3_600_000

/**
 * What follows from an outcome: the arrows out of `leased` in the state diagram. Pure.
 *
 *   2xx              succeeded
 *   410              failed (gone), and the endpoint is disabled
 *   refused target   failed (target_refused)
 *   ended by us      ready at once, without using up a step
 *   stale connection ready at once on a new connection, once, without using up a step
 *   anything else    scheduled, or failed when the schedule (exhausted) or the age (expired) is used up
 *
 * @param ageMs time since the present schedule began, at the attempt's end
 */
export function decide(input: {
  lease: Pick<Lease, 'step' | 'fresh'>
  outcome: Outcome
  schedule: readonly number[]
  ageMs: number
  maxAgeMs: number
  random: () => number
  now: Date
}): Verdict {
  const { lease, outcome, schedule } = input
  const stay = { reason: null, step: lease.step, fresh: false, waitMs: 0, laneWaitMs: 0, gone: false }
  const status = outcome.response?.status ?? null
  if (status !== null && status >= 200 && status <= 299) {
    return { ...stay, outcome: outcomeCode.succeeded, state: stateCode.succeeded }
  }
  const failed = { ...stay, outcome: outcomeCode.failed, state: stateCode.failed }
  if (status === 410) return { ...failed, reason: 'gone', gone: true }
  if (outcome.error?.code === 'target_refused' || outcome.error?.code === 'url_invalid') {
    return { ...failed, reason: 'target_refused' }
  }
  if (outcome.aborted) return { ...failed, state: stateCode.ready }
  if (outcome.stale && !lease.fresh) return { ...failed, state: stateCode.ready, fresh: true }

  const retryAfterMs =
    status !== null && throttling.has(status) ? parseRetryAfter(outcome.retryAfter ?? undefined, input.now) : null
  const laneWaitMs = Math.min(retryAfterMs ?? 0, maxLaneWaitMs)
  const delayMs = delayAfter(schedule, lease.step, input.random)
  if (delayMs === null) return { ...failed, laneWaitMs, reason: 'exhausted' }
  const waitMs = Math.max(delayMs, retryAfterMs ?? 0)
  if (input.ageMs + waitMs > input.maxAgeMs) return { ...failed, laneWaitMs, reason: 'expired' }
  return { ...failed, state: stateCode.scheduled, step: lease.step + 1, waitMs, laneWaitMs }
}
