/**
 * What each connection is set to when it is made, so that nothing hangs on the defaults of a database that is the product's:
 * READ COMMITTED is what every statement of ours is written for, times are read as ISO, and a slow statement is ended by the
 * server. Set by a statement and not as startup parameters, which poolers refuse.
 */
export function sessionSettings(statementTimeoutMs: number): string {
  return (
    `set default_transaction_isolation = 'read committed'; ` +
    `set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set statement_timeout = ${Math.floor(statementTimeoutMs)}`
  )
}
