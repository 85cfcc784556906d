import type { z } from 'zod'
import { ApiProblem, type FieldError } from './api-problem.ts'
import { phraseIssue } from './issue-phrases.ts'
import { jsonPointer } from './json-pointer.ts'

const maxErrors = 50

/** A refusal of what a schema refused, each issue with the pointer to its field. */
export function problemFromZod(error: z.ZodError): ApiProblem {
  const errors = error.issues.flatMap(fieldErrors).slice(0, maxErrors)
  const first = errors[0]
  const detail = first === undefined ? undefined : `${first.path || 'The body'}: ${first.message}`
  return new ApiProblem('invalid_request', detail, { errors })
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, maxErrors)
      .map((key) => ({ path: jsonPointer([...issue.path, key]), message: 'Unknown field.' }))
  }
  return [{ path: jsonPointer(issue.path), message: phraseIssue(issue) }]
}
