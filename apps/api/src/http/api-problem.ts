import { type ProblemCode, type ProblemStatus, problemCatalogue, problemType } from './problem-catalogue.ts'

/** One thing that is wrong: where (a JSON pointer into the body; `/name` for a parameter of path or query), and what. */
export type FieldError = { path: string; message: string }

export type ProblemOptions = {
  errors?: readonly FieldError[]
  /** Seconds, for `Retry-After`. */
  retryAfterSeconds?: number
  headers?: Readonly<Record<string, string>>
  /** What went wrong inside: for the log, never answered. */
  cause?: unknown
}

/** A refusal that the caller sees. Thrown anywhere in a request, converted to a response in one place. */
export class ApiProblem extends Error {
  override name = 'ApiProblem'
  readonly code: ProblemCode
  readonly status: ProblemStatus
  /** One sentence, fit to be answered. */
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, detail?: string, options: ProblemOptions = {}) {
    const [status, , remedy] = problemCatalogue[code]
    super(detail ?? remedy, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.status = status
    this.detail = detail ?? remedy
    this.errors = options.errors ?? []
    const retryAfter = options.retryAfterSeconds
    this.headers =
      retryAfter === undefined ? (options.headers ?? {}) : { ...options.headers, 'retry-after': `${retryAfter}` }
  }

  /** RFC 9457, with `code` and `errors` as extension members. */
  toDocument() {
    const { code, status, detail, errors } = this
    return { type: problemType(code), title: problemCatalogue[code][1], status, detail, code, errors }
  }
}

/** 422 for one field. */
export function invalid(path: string, message: string): ApiProblem {
  return new ApiProblem('invalid_request', `${path || 'The body'}: ${message}`, { errors: [{ path, message }] })
}

/** 404, in the same words for unknown, deleted, malformed and another tenant's. */
export function notFound(what: string): ApiProblem {
  return new ApiProblem('not_found', `There is no such ${what}.`)
}

/** 429. */
export function tooManyRequests(detail: string, waitMs: number): ApiProblem {
  return new ApiProblem('too_many_requests', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
