import type { JobPace } from '@posthorn/core/sql'

/** How long a batch is to take: others wait that long at most for what it holds, and for its commit's log to be flushed. */
const batchMs = 25
/** After a batch a job rests for so many times as long as it took. */
const restShare = 0.12
/** How long a job that waits for others does. */
const waitingMs = 500

const first = 500
const least = 50
const most = 5_000

/** Sizes batches by the clock, kind by kind, and makes a job rest between them. */
export function createJobPace(): JobPace {
  const limits = new Map<string, number>()
  return {
    limit: (kind) => limits.get(kind) ?? first,
    rest(kind, { status, looked, limit, tookMs }) {
      // A batch that was cut short by the end of something says little of how long a full one takes.
      if (looked >= limit / 2) {
        const aimed = limit * Math.min(2, Math.max(0.5, batchMs / Math.max(1, tookMs)))
        limits.set(kind, Math.round(Math.min(most, Math.max(least, aimed))))
      }
      return status === 'waiting' ? waitingMs : tookMs * restShare
    },
  }
}
