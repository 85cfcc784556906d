import type { Queryable } from '../db/pool.ts'

/** A job as a batch finds it. `input` and `position` are the kind's own. */
export type JobAtHand = {
  id: string
  tenantId: string | null
  endpointId: string | null
  input: Readonly<Record<string, unknown>>
  position: Readonly<Record<string, unknown>> | null
}

/** What a batch came to. */
export type JobBatch = {
  /** `more`: the next batch may follow. `waiting`: it waits for others, and looks again in a while. */
  status: 'more' | 'waiting' | 'done' | 'failed'
  /** Where the next batch goes on. */
  position: Readonly<Record<string, unknown>> | null
  /** Done now, in the units that the job counts in. */
  done: number
  /** Rows read or written: what the next batch's size is reckoned from. */
  looked: number
  /** How much there is to do, once it is known. */
  total?: number
  /** Why it failed. */
  error?: string
  /** Lanes that have new work. */
  rung?: readonly string[]
}

/**
 * One kind of job: does one batch of at most `limit` rows in the transaction at hand, in which the job's row is locked.
 *
 * Invariant: all that a batch does is in that transaction, and it looks at nothing that it remembers from another but `position`.
 * So a batch that is cut off has done nothing, and whoever comes next does it again.
 */
export type JobKind = (db: Queryable, job: JobAtHand, limit: number) => Promise<JobBatch>
