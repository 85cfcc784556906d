import type { Horizon } from '@posthorn/core/sql'
import { type Check, duration, fail, ok, warn } from './check.ts'

const warnSeconds = 600
const failSeconds = 6 * 3_600
const warnXids = 5_000_000

/** Says what holds the horizon back for long: dead rows pile up behind it, in every table of the database. */
export function judgeHorizon({ holders, seesAll }: Horizon): Check[] {
  const name = 'vacuum horizon'
  const checks: Check[] = []
  for (const { kind, name: what, program, state, xids, seconds } of holders) {
    const age = seconds === null ? `${xids} transactions back` : `${duration(seconds)} old`
    const held = {
      session: `the transaction of process ${what}${program && ` (${program})`}, ${state}, is ${age}`,
      prepared: `the prepared transaction ${what} is ${age}`,
      slot: `the replication slot ${what}, ${state}, is ${age}`,
    }[kind]
    const todo = {
      session: `end it: commit, or select pg_terminate_backend(${what})`,
      prepared: `end it: commit prepared, or rollback prepared '${what}'`,
      slot: `see why its reader lags, or drop it: select pg_drop_replication_slot('${what}')`,
    }[kind]
    if ((seconds ?? 0) > failSeconds) checks.push(fail(name, held, todo))
    else if ((seconds ?? 0) > warnSeconds || xids > warnXids) checks.push(warn(name, held, todo))
  }
  if (checks.length > 0) return checks
  if (seesAll) return [ok(name, 'nothing old holds it back')]
  return [
    warn(
      name,
      "nothing old holds it back, of what may be seen: other roles' sessions are hidden",
      'grant pg_read_all_stats to this role, or run the doctor with another',
    ),
  ]
}
