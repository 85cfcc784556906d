/** SQLSTATE classes and codes that say: not now, and not because of what was asked. */
const unavailableStates = new Set([
  '57014', // query_canceled: the statement's time was up
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: starting up, shutting down, in recovery
  '57P05', // idle_session_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
  '25006', // read_only_sql_transaction: a standby, after a failover
  '55P03', // lock_not_available
  '40P01', // deadlock_detected
  '40001', // serialization_failure
  '3D000', // invalid_catalog_name: the database is not there (yet)
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password
])
const unavailableClasses = new Set([
  '08', // connection exception
  '53', // insufficient resources: too many connections, disk full, out of memory
  '58', // system error
])

const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOENT', // a Unix socket's file
])

const prismaCodes = new Set([
  'P1000', // authentication failed
  'P1001', // not reachable
  'P1002', // reached, but timed out
  'P1003', // no such database
  'P1008', // operation timed out
  'P1010', // access denied
  'P1011', // TLS
  'P1017', // the server closed the connection
  'P1018', // the transaction is closed already
  'P2024', // no connection of the pool in time
  'P2028', // transaction API: not started or not ended in time
  'P2034', // write conflict or deadlock
  'P2037', // too many connections
])

const prismaKinds = new Set([
  'AuthenticationFailed',
  'DatabaseNotReachable',
  'DatabaseDoesNotExist',
  'DatabaseAccessDenied',
  'SocketTimeout',
  'TlsConnectionError',
  'ConnectionClosed',
  'TransactionAlreadyClosed',
  'TransactionWriteConflict',
  'TooManyConnections',
])

/** What pg and its pool say in words alone, without a code. */
const messages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|Can't reach database server|Connection ended unexpectedly|Transaction already closed|Unable to start a transaction)/

/**
 * Whether an error of pg, its pool or Prisma means that the database could not serve now: unreachable, starting up or
 * shutting down, out of connections, or past a time limit. The same statement may succeed later; the caller answers
 * 503, or tries again.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  // Prisma wraps the driver's error up to four times; a cycle must not hold us.
  return unavailableWithin(error, 6)
}

function unavailableWithin(error: unknown, depth: number): boolean {
  if (depth === 0 || typeof error !== 'object' || error === null) return false
  const { code, originalCode, kind, message, cause, meta, errors, syscall } = error as Record<string, unknown>
  for (const state of [code, originalCode]) {
    if (typeof state !== 'string') continue
    if (unavailableStates.has(state) || prismaCodes.has(state)) return true
    if (/^[0-9A-Z]{5}$/.test(state) && !state.startsWith('P') && unavailableClasses.has(state.slice(0, 2))) return true
    // A code of the socket alone: a file that is missing elsewhere is no database's fault.
    if (socketCodes.has(state) && (state !== 'ENOENT' || syscall === 'connect')) return true
  }
  if (typeof kind === 'string' && prismaKinds.has(kind)) return true
  if (typeof message === 'string' && messages.test(message)) return true
  if (Array.isArray(errors) && errors.some((each) => unavailableWithin(each, depth - 1))) return true
  if (unavailableWithin(cause, depth - 1)) return true
  return (
    typeof meta === 'object' &&
    meta !== null &&
    unavailableWithin((meta as Record<string, unknown>)['driverAdapterError'] ?? meta, depth - 1)
  )
}
