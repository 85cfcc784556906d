/** Why a webhook was not taken. */
export type WebhookErrorCode =
  | 'missing_header'
  | 'bad_timestamp'
  | 'too_old'
  | 'too_new'
  | 'no_common_version'
  | 'no_match'
  | 'body_already_parsed'
  | 'body_too_large'
  | 'bad_secret'
  | 'unsupported_runtime'

const statuses: Record<WebhookErrorCode, number> = {
  missing_header: 400,
  bad_timestamp: 400,
  too_old: 400,
  too_new: 400,
  no_common_version: 401,
  no_match: 401,
  body_already_parsed: 500,
  body_too_large: 413,
  bad_secret: 500,
  unsupported_runtime: 500,
}

/**
 * A webhook that was not verified. The message says what to do; of the secret and the body it repeats nothing. Frameworks find in
 * it what they look for: `status`, `statusCode`, `expose`, and `getResponse()`.
 */
export class WebhookError extends Error {
  override name = 'WebhookError'
  /** Stays as it is over versions. */
  readonly code: WebhookErrorCode
  /** What to answer: 4xx where the sender is at fault, 500 where the receiver must be corrected. */
  readonly status: number
  readonly statusCode: number
  /** Whether the sender is at fault, and is told. */
  readonly expose: boolean
  /** The answer as JSON. There only where the sender is at fault (Hono asks whether it is): the rest is for the receiver's log. */
  declare readonly getResponse?: () => Response

  constructor(code: WebhookErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = statuses[code]
    this.statusCode = this.status
    this.expose = this.status < 500
    if (this.expose) this.getResponse = () => Response.json({ code, message }, { status: this.status })
  }
}
