import type { components } from './generated/openapi.ts'

/** What one field has wrong: its place as a JSON pointer, and what is asked of it. */
export type FieldError = { path: string; message: string }

/** The codes that this package adds to those of the API. */
export type ClientCode =
  | 'invalid_argument'
  | 'unreachable'
  | 'timed_out'
  | 'unexpected_answer'
  | 'not_a_transaction'
  | 'not_installed'
  | 'not_granted'

export type ErrorCode = components['schemas']['Problem']['code'] | ClientCode

type Details = {
  code: ErrorCode
  /** The HTTP status, where there was one. */
  status?: number
  errors?: readonly FieldError[]
  retryAfterSeconds?: number | null
  cause?: unknown
}

/**
 * Everything that goes wrong but a webhook's verification. The message says what to do. A call that was given up by its own
 * `signal` rejects with the signal's reason instead.
 */
export class PosthornError extends Error {
  override name = 'PosthornError'
  /** Stays as it is over versions: compare this, and not the message. */
  readonly code: ErrorCode
  /** Null where no answer was had, and in SQL. */
  readonly status: number | null
  /** All fields that were refused, if that is why. */
  readonly errors: readonly FieldError[]
  /** Where the first of them stands, as a JSON pointer: `/url`, or `/events/3/type` in a batch. */
  readonly path: string | null
  /** As the API asked. */
  readonly retryAfterSeconds: number | null

  constructor(message: string, { code, status, errors = [], retryAfterSeconds = null, cause }: Details) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status ?? null
    this.errors = errors
    this.path = errors[0]?.path ?? null
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** @param path the argument's place, as the API would name it: `/payload` */
export function invalidArgument(path: string, message: string, cause?: unknown): PosthornError {
  return new PosthornError(`${path.slice(1)}: ${message}`, {
    code: 'invalid_argument',
    errors: [{ path, message }],
    cause,
  })
}
