/** The states in which a delivery can end without an attempt: see `stateCode`. */
type EndState = '5' | '6'

/**
 * Logs the ends, without an attempt, of rows that the same statement has deleted: part of a statement, made of constants
 * alone.
 * @param from its CTE of the deleted rows, with `event_id`, `endpoint_id` and `attempts`; it is called `r` in `reason`
 * @param reason an SQL expression
 */
export const logEnds = (from: string, state: EndState, reason: string): string => `
insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at)
select r.event_id, r.endpoint_id, posthorn.uuid_v7(clock_timestamp()), r.attempts, 0, ${state}, ${reason},
  clock_timestamp(), clock_timestamp()
from ${from} r`
