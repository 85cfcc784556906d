import type { Pool, Queryable } from '../db/pool.ts'
import { after, dayAfter, lower } from './event-bounds.ts'
import { guardedTransaction } from './guarded-transaction.ts'
import { beginGuarded } from './pipelined-transaction.ts'
import { count, owe } from './recover-statements.ts'

/** What recovery looks for. */
export type RecoverState = 'failed' | 'canceled' | 'missed'

export const recoverStates = ['failed', 'canceled', 'missed'] as const satisfies readonly RecoverState[]

export type RecoverRange = {
  tenantId: string
  endpointId: string
  states: readonly RecoverState[]
  /** The lowest event's id that is looked at. */
  low: string
  /** The first that is not any more. */
  high: string
}

export type RecoverStep = {
  /** Null when the endpoint is gone. */
  laneStatus: number | null
  /** Rows read. */
  looked: number
  failed: number
  canceled: number
  missed: number
  /** Deliveries owed again. */
  owed: number
  /** Where the next step begins; null when the range is through. */
  next: string | null
}

type Row = Omit<RecoverStep, 'next'> & { last: string | null; cut: boolean }

/** An empty day costs a statement: so many are passed over in one step. */
const daysAtOnce = 50

/**
 * One step through a range, from its `low` on: reads at most `limit` rows of the first day that has any.
 * @param db in a transaction that was opened for it (see recover-statements.ts)
 */
export async function recoverStep(
  db: Queryable,
  range: RecoverRange,
  limit: number,
  work: 'owe' | 'count',
): Promise<RecoverStep> {
  const { tenantId, endpointId, states, high } = range
  const walk = states.includes('missed') ? 'missed' : 'ended'
  const text = (work === 'owe' ? owe : count)[walk]
  const ended = [...(states.includes('failed') ? [5] : []), ...(states.includes('canceled') ? [6] : [])]
  let { low } = range
  for (let days = 1; ; days++) {
    const end = lower(high, dayAfter(low))
    const { rows } = await db.query<Row>({
      name: `recover-${work}-${walk}`,
      text,
      values: [tenantId, endpointId, low, end, limit, ended],
    })
    const { last, cut, ...step } = rows[0]!
    // Cut off at the limit, or by what its payloads weigh: the rest of the day is still to come.
    const reached = (step.looked < limit && !cut) || last === null ? end : after(last)
    const next = reached >= high ? null : reached
    if (step.looked > 0 || next === null || days === daysAtOnce) return { ...step, next }
    low = next
  }
}

/** Planned anew each time, for the one partition that the bounds leave: planning for all of them takes longer. */
export const recoverPlans = 'set local enable_sort = off; set local plan_cache_mode = force_custom_plan'

const beginCount = `${beginGuarded}; ${recoverPlans}; set transaction read only`

export type RecoverCount = {
  failed: number
  canceled: number
  missed: number
  /** From here on nothing was counted, for the time was up; null when all was. */
  next: string | null
}

/** Counts what a recovery would owe now, for at most `budgetMs`. Its transactions are read-only. */
export async function countRecoverable(
  pool: Pool,
  range: RecoverRange,
  { budgetMs, limit = 5_000 }: { budgetMs: number; limit?: number },
): Promise<RecoverCount> {
  const begun = performance.now()
  const counted: RecoverCount = { failed: 0, canceled: 0, missed: 0, next: range.low < range.high ? range.low : null }
  while (counted.next !== null && performance.now() - begun < budgetMs) {
    const from: RecoverRange = { ...range, low: counted.next }
    const step = await guardedTransaction(pool, beginCount, (client) => recoverStep(client, from, limit, 'count'))
    counted.failed += step.failed
    counted.canceled += step.canceled
    counted.missed += step.missed
    counted.next = step.next
  }
  return counted
}
