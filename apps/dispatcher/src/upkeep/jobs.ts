import { encodeId, type Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { deleteEndedJobs, workOnJob } from '@posthorn/core/sql'
import { createJobPace } from '../job-pace.ts'
import type { LaneBook } from '../lane-book.ts'
import { type Loop, startLoop } from '../loop.ts'
import type { Timing } from '../timing.ts'

const jobsBatch = 1_000
const forgetEveryMs = 3_600_000

/**
 * Works on jobs, a batch at a time, on a connection of its own: a batch holds one for longer than the rest of the upkeep may
 * wait. Who has worked on one comes back when it has rested, and all others look now and then: so a job stays with one
 * dispatcher, until that one is gone.
 */
export function startJobs(deps: {
  pool: Pool
  book: Pick<LaneBook, 'offer'>
  retentionMs: number
  timing: Timing
  log: Log
}): Loop {
  const { pool, book, retentionMs, timing, log } = deps
  const pace = createJobPace()
  let forgetAt = performance.now() + timing.unaskedMs
  let restedAt = 0
  return startLoop({
    name: 'jobs',
    log,
    afterFaultMs: 2_000,
    firstMs: timing.unaskedMs,
    async run() {
      // Whoever hurries us does not know of the rest.
      const restMs = restedAt - performance.now()
      if (restMs > 0) return restMs
      if (performance.now() >= forgetAt) {
        const gone = await deleteEndedJobs(pool, retentionMs, jobsBatch)
        if (gone < jobsBatch) forgetAt = performance.now() + forgetEveryMs
      }
      const step = await workOnJob(pool, pace)
      if (step === null) return timing.unaskedMs
      for (const lane of step.rung) book.offer(lane, 'doorbell')
      const job = { job: encodeId('job', step.id), kind: step.kind }
      if (step.status === 'done') log.info(job, 'a job is done')
      if (step.status === 'failed') log.warn({ ...job, reason: step.error }, 'a job has failed')
      // Timers fire up to a millisecond early; and who comes before the rest is over finds nothing, and looks again much later.
      const pauseMs = Math.ceil(step.restMs) + 1
      restedAt = performance.now() + pauseMs
      return pauseMs
    },
  })
}
