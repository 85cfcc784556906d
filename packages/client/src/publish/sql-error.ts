import { type ErrorCode, PosthornError } from '../errors.ts'

/** What `posthorn.publish` raises, and which argument it is about. */
const raised: Record<string, [ErrorCode, string | null]> = {
  PH001: ['invalid_request', '/tenant'],
  PH002: ['invalid_request', '/type'],
  PH003: ['invalid_json', '/payload'],
  PH004: ['payload_too_large', '/payload'],
  PH005: ['invalid_request', '/idempotencyKey'],
  PH006: ['invalid_request', '/channels'],
  PH007: ['invalid_request', '/ordering_key'],
  PH008: ['invalid_request', '/deliver_at'],
  PH009: ['invalid_request', '/events'],
  PH010: ['idempotency_key_reused', '/idempotencyKey'],
  // What was given as a time and is none.
  '22007': ['invalid_request', '/deliver_at'],
  '22008': ['invalid_request', '/deliver_at'],
}

const grant = 'grant posthorn_publisher to <the user that your product connects as>'

/**
 * The error of a publish in SQL, as the libraries wrap it each in their own way, or the error itself when it is none of ours.
 * Either way the transaction is aborted, as Postgres does after each error: roll it back.
 */
export function publishFailure(error: unknown): unknown {
  const found = findSqlState(error)
  if (found === null) return error
  const { state, message } = found
  const known = raised[state]
  if (known !== undefined) {
    const [code, path] = known
    const text = message.replace(/^[\s\S]*posthorn: /, '').split('\n')[0]!
    return new PosthornError(`publish: ${text}`, {
      code,
      errors: path === null ? [] : [{ path, message: text }],
      cause: error,
    })
  }
  if (state === '3F000' || state === '42883') {
    const text =
      'publish: there is no Posthorn in this database: migrate it (POSTHORN_DATABASE_URL=... posthorn migrate)'
    return new PosthornError(text, { code: 'not_installed', cause: error })
  }
  if (state === '42501') {
    return new PosthornError(`publish: the database user may not publish: ${grant}`, {
      code: 'not_granted',
      cause: error,
    })
  }
  return error
}

type Wrapped = {
  code?: unknown
  originalCode?: unknown
  message?: unknown
  cause?: unknown
  driverError?: unknown
  meta?: { driverAdapterError?: unknown }
}

/** The innermost SQLSTATE: directly (pg, postgres.js), in the cause (Drizzle, TypeORM), or in what Prisma reports. */
function findSqlState(error: unknown): { state: string; message: string } | null {
  let found: { state: string; message: string } | null = null
  let at = error as Wrapped | null | undefined
  for (let depth = 0; at !== null && typeof at === 'object' && depth < 8; depth++) {
    const code = [at.originalCode, at.code].find((each) => typeof each === 'string' && /^[0-9A-Z]{5}$/.test(each))
    // Prisma's own codes have five characters too: P2010.
    if (typeof code === 'string' && !/^P2\d{3}$/.test(code)) found = { state: code, message: String(at.message ?? '') }
    at = (at.driverError ?? at.meta?.driverAdapterError ?? at.cause) as Wrapped | undefined
  }
  return found
}
