import type { AttemptErrorCode, AttemptPhase } from '@posthorn/core'

/** One HTTP request to make. Headers and body are final: nothing is serialised after signing. */
export type SendRequest = {
  url: string
  /** Sent with lower-case names. Those that belong to the connection (`content-length`, `host`, ...) are left out. */
  headers: Record<string, string>
  body: Uint8Array
  /** One deadline for all of it: DNS, connect, TLS, request, headers and body. */
  timeoutMs: number
  /** Must use a new connection: the second try after a stale one. */
  fresh: boolean
  signal: AbortSignal
}

export type AttemptError = {
  code: AttemptErrorCode
  phase: AttemptPhase
  /** For people, the endpoint's owner among them: no credentials, path, query or payload. */
  message: string
}

type AttemptResponse = {
  status: number
  /** Lower-case names, in order; at most 64 pairs and 8 KiB. */
  headers: [string, string][]
  /** The first bytes of the body, at most 16 KiB, as they came: maybe compressed, maybe not text. */
  body: Buffer
  /** `body` is not all of it: cut at the limit, at the deadline, or by the receiver. */
  truncated: boolean
}

/** What one request came to. Whatever goes wrong ends here as a value. */
export type Outcome = {
  startedAt: Date
  durationMs: number
  url: string
  /** Set as soon as a final status was received, whatever became of the body. */
  response: AttemptResponse | null
  /** The header as it stood; an array when it was sent more than once. */
  retryAfter: string | string[] | null
  /** Null when a status was received, whatever it is. */
  error: AttemptError | null
  /**
   * A reused connection was closed or reset before any byte of this answer. Most likely the receiver had closed it while
   * it was idle and never saw the request; it cannot be ruled out that it did.
   */
  stale: boolean
  /** The caller's signal, or `stop`, ended it before a status was received. */
  aborted: boolean
}
