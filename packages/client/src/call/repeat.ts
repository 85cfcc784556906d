import pRetry from 'p-retry'
import { PosthornError } from '../errors.ts'

/** A longer wait is the caller's to decide on. */
const longestWaitMs = 60_000

type RepeatOptions = {
  /** How often at most after the first time. */
  retries: number
  /** May it be done twice? If not, it is done again only where it surely was not done. */
  repeatable: boolean
  signal: AbortSignal | undefined
}

/** Calls `attempt` until it succeeds or fails for good. Waits as the API asks, and else 0.25 s and longer each time. */
export function repeat<T>(attempt: (number: number) => Promise<T>, options: RepeatOptions): Promise<T> {
  const { retries, repeatable, signal } = options
  return pRetry(attempt, {
    retries,
    minTimeout: 250,
    maxTimeout: 10_000,
    randomize: true,
    ...(signal ? { signal } : {}),
    shouldRetry: async ({ error, retryDelay }) => {
      if (!(error instanceof PosthornError) || !isPassing(error, repeatable)) return false
      const askedMs = (error.retryAfterSeconds ?? 0) * 1000
      if (askedMs > longestWaitMs) return false
      if (askedMs > retryDelay) await wait(askedMs - retryDelay, signal)
      return true
    },
  })
}

/** Will the same request perhaps succeed later, and may it be sent again? */
function isPassing(error: PosthornError, repeatable: boolean): boolean {
  const { code, status } = error
  // Refused before anything was done.
  if (status === 429 || code === 'overloaded' || code === 'stopping') return true
  if (code === 'unreachable' && !(error as { sent?: boolean }).sent) return true
  if (!repeatable) return false
  // A former try of this very call may still be under way.
  if (code === 'idempotency_key_in_use') return true
  return code === 'unreachable' || code === 'timed_out' || status === 502 || status === 503 || status === 504
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
