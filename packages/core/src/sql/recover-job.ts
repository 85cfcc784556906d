import type { JobKind } from './job-kind.ts'
import { lockRecovery } from './recover-lock.ts'
import { type RecoverRange, recoverStep } from './recover-walk.ts'

/** What a recovery was asked for: see RecoverRange. */
export type RecoverInput = Pick<RecoverRange, 'states' | 'low' | 'high'>

/** First all is counted, without a write, so that the job's progress says of how many; then it is owed. */
type Position = { phase: 'count' | 'owe'; at: string; counted: number }

/** Counting writes nothing, and costs a third. */
const countAtOnce = 3

/**
 * Owes again what an endpoint has not got: see recover-statements.ts. The filter and the status are those that the endpoint
 * has when a batch begins: once it is disabled or deleted the job fails with the reason, and owes no more.
 */
export const recoverJob: JobKind = async (db, job, limit) => {
  const { states, low, high } = job.input as RecoverInput
  const position = (job.position ?? { phase: 'count', at: low, counted: 0 }) as Position
  const { phase, at } = position
  const endpointId = job.endpointId!
  const range: RecoverRange = { tenantId: job.tenantId!, endpointId, states, low: at, high }
  if (phase === 'owe') await lockRecovery(db, endpointId)
  const rows = phase === 'count' ? limit * countAtOnce : limit
  const step = await recoverStep(db, range, rows, phase)
  if (step.laneStatus === null || step.laneStatus >= 2) {
    const error = step.laneStatus === 2 ? 'endpoint_disabled' : 'endpoint_deleted'
    return { status: 'failed', position, done: 0, looked: 0, error }
  }
  if (phase === 'owe') {
    const rung = step.owed > 0 ? [endpointId] : []
    const next: Position = { ...position, at: step.next ?? high }
    return {
      status: step.next === null ? 'done' : 'more',
      position: next,
      done: step.owed,
      looked: step.looked,
      rung,
    }
  }
  const counted = position.counted + step.failed + step.canceled + step.missed
  const looked = Math.ceil(step.looked / countAtOnce)
  if (step.next !== null) {
    return { status: 'more', position: { phase, at: step.next, counted }, done: 0, looked }
  }
  return { status: 'more', position: { phase: 'owe', at: low, counted }, done: 0, looked, total: counted }
}
