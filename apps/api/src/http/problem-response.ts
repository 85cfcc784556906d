import { EnvelopeError, type Log } from '@posthorn/core'
import { isDatabaseUnavailable } from '@posthorn/core/db'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { ApiProblem } from './api-problem.ts'

const retryAfterSeconds = 2

/** Any error as what the caller may see of it. What is not foreseen is a 500 that says nothing of the inside. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (error instanceof EnvelopeError) {
    const { code, detail, path } = error
    return new ApiProblem(code, detail, { errors: [{ path, message: detail }] })
  }
  if (isDatabaseUnavailable(error)) {
    return new ApiProblem('database_unavailable', 'The database cannot be reached, or does not answer in time.', {
      retryAfterSeconds,
      cause: error,
    })
  }
  if (error instanceof HTTPException && error.status === 415) return new ApiProblem('unsupported_media_type')
  if (error instanceof HTTPException && error.status < 500) return new ApiProblem('malformed_request', error.message)
  return new ApiProblem('internal_error', undefined, { cause: error })
}

/** The one place where an error becomes an answer: RFC 9457. */
export function createProblemHandler(log: Log): (error: unknown, c: Context) => Response {
  return (error, c) => problemResponse(noteProblem(log, error, c.req.method, c.req.path))
}

/** As `toProblem`; those that are no fault of the caller's are logged. */
export function noteProblem(log: Log, error: unknown, method: string, route: string): ApiProblem {
  const problem = toProblem(error)
  if (problem.status >= 500) {
    const fields = { method, route, code: problem.code, err: problem.cause }
    if (problem.status === 500) log.error(fields, 'request failed')
    else log.warn(fields, 'request refused')
  }
  return problem
}

export function problemResponse(problem: ApiProblem): Response {
  const { status, headers, body } = writeProblem(problem)
  return new Response(body, { status, headers })
}

export function writeProblem(problem: ApiProblem) {
  return {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...problem.headers },
    body: JSON.stringify(problem.toDocument()),
  }
}
