import { isStorableText } from '@posthorn/core'
import type { z } from 'zod'
import { type ApiProblem, invalid, notFound } from './api-problem.ts'
import { problemFromZod } from './zod-problem.ts'

/** Marks a check of a path parameter whose failure is a 422: the route would make what the parameter names. */
export const unprocessable = { params: { problem: 'unprocessable' } } as const

/**
 * A path parameter that its schema refused. An id that nothing can have is an unknown one: 404. Text that no field may
 * hold, and names of what is about to be made, are 422.
 */
export function problemFromParameters(error: z.ZodError, given: Readonly<Record<string, string>>): ApiProblem {
  for (const [name, text] of Object.entries(given)) {
    // What is still in percent signs here was not UTF-8.
    if (!isStorableText(text)) return invalid(`/${name}`, 'Holds U+0000 or is not well-formed Unicode.')
    if (/%(?:[89a-f][0-9a-f]|00)/i.test(text)) return invalid(`/${name}`, 'Is not valid UTF-8.')
  }
  const named = error.issues.some((issue) => issue.code === 'custom' && issue.params?.['problem'] === 'unprocessable')
  return named ? problemFromZod(error) : notFound('resource')
}
