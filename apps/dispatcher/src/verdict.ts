import { type AttemptErrorCode, delayAfter, parseRetryAfter } from '@posthorn/core'
import { type Lease, outcomeCode, type Settlement, stateCode } from '@posthorn/core/sql'
import type { Outcome } from './sender/index.ts'

/** The part of a settlement that is decided by what came back. */
export type Verdict = Pick<
  Settlement,
  'outcome' | 'state' | 'reason' | 'step' | 'fresh' | 'waitMs' | 'laneWaitMs' | 'gone' | 'health'
>

/** Statuses by which a receiver says that it is overloaded: with Retry-After, its whole lane waits. */
const throttling = new Set([429, 502, 503, 504])
const maxLaneWaitMs = 3_600_000
/** Faults on our side of the wire: they say nothing of the endpoint, and cost its delivery no step. */
const ours = new Set<AttemptErrorCode>([
  ...(['internal', 'local_limit', 'dns_failed', 'unreachable'] as const),
  ...(['proxy_unreachable', 'proxy_refused', 'proxy_failed'] as const),
])
const shortestOwnWaitMs = 30_000
const longestOwnWaitMs = 3_600_000

/**
 * What follows from an outcome: the arrows out of `leased` in the state diagram. Pure.
 *
 *   2xx              succeeded
 *   410              failed (gone), and the endpoint is disabled
 *   refused target   failed (target_refused)
 *   ended by us      ready at once, without using up a step
 *   stale connection ready at once on a new connection, once, without using up a step
 *   fault of ours    scheduled, without using up a step, after a tenth of its age: 30 s at least, an hour at most
 *   anything else    scheduled, or failed when the schedule (exhausted) or the age (expired) is used up
 *
 * Only 2xx and the last line say something of the endpoint's health.
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
  const stay = {
    reason: null,
    step: lease.step,
    fresh: false,
    waitMs: 0,
    laneWaitMs: 0,
    gone: false,
    health: 'unknown',
  } as const
  const status = outcome.response?.status ?? null
  if (status !== null && status >= 200 && status <= 299) {
    return { ...stay, outcome: outcomeCode.succeeded, state: stateCode.succeeded, health: 'good' }
  }
  const failed = { ...stay, outcome: outcomeCode.failed, state: stateCode.failed }
  if (status === 410) return { ...failed, reason: 'gone', gone: true }
  if (outcome.error?.code === 'target_refused' || outcome.error?.code === 'url_invalid') {
    return { ...failed, reason: 'target_refused' }
  }
  if (outcome.aborted) return { ...failed, state: stateCode.ready }
  if (outcome.stale && !lease.fresh) return { ...failed, state: stateCode.ready, fresh: true }
  if (outcome.error !== null && ours.has(outcome.error.code)) {
    const share = Math.min(longestOwnWaitMs, Math.max(shortestOwnWaitMs, input.ageMs / 10))
    const waitMs = Math.round(share * (0.8 + 0.4 * input.random()))
    if (input.ageMs + waitMs > input.maxAgeMs) return { ...failed, reason: 'expired' }
    return { ...failed, state: stateCode.scheduled, waitMs }
  }

  const retryAfterMs =
    status !== null && throttling.has(status) ? parseRetryAfter(outcome.retryAfter ?? undefined, input.now) : null
  const laneWaitMs = Math.min(retryAfterMs ?? 0, maxLaneWaitMs)
  const bad = { ...failed, laneWaitMs, health: 'bad' } as const
  const delayMs = delayAfter(schedule, lease.step, input.random)
  if (delayMs === null) return { ...bad, reason: 'exhausted' }
  const waitMs = Math.max(delayMs, retryAfterMs ?? 0)
  if (input.ageMs + waitMs > input.maxAgeMs) return { ...bad, reason: 'expired' }
  return { ...bad, state: stateCode.scheduled, step: lease.step + 1, waitMs }
}
