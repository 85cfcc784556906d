// The one right plan of a statement of the upkeep is by its index, whatever the planner believed when it planned it.
const indexSettings =
  '; set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off'

/**
 * What each connection is set to when it is made, so that nothing hangs on the defaults of a database that is the product's:
 * READ COMMITTED is what every statement of ours is written for, times are read as ISO, and a slow statement is ended by the
 * server. Set by a statement and not as startup parameters, which poolers refuse.
 */
export function sessionSettings(statementTimeoutMs: number, indexesOnly = false): string {
  return (
    `set default_transaction_isolation = 'read committed'; ` +
    `set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set statement_timeout = ${Math.floor(statementTimeoutMs)}` +
    (indexesOnly ? indexSettings : '')
  )
}
