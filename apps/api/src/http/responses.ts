import { z } from '@hono/zod-openapi'
import { problemCatalogue, problemCodes } from './problem-catalogue.ts'

const rows = problemCodes.map((code) => `| \`${code}\` | ${problemCatalogue[code][0]} | ${problemCatalogue[code][2]} |`)

/** RFC 9457. */
export const problemSchema = z
  .object({
    type: z.string().openapi({ example: 'urn:posthorn:problem:invalid_request' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z
      .enum(problemCodes)
      .openapi({ description: `| code | status | what to do |\n|---|---|---|\n${rows.join('\n')}` }),
    errors: z.array(
      z.object({
        path: z.string().openapi({
          description: 'A JSON pointer into the body; for a parameter of path or query, `/` and its name.',
          example: '/url',
        }),
        message: z.string(),
      }),
    ),
  })
  .openapi('Problem')

/** A JSON answer of a route. */
export function json<T extends z.ZodType>(schema: T, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/** A JSON body of a route. `required`, or the framework would skip its validation. */
export function jsonRequest<T extends z.ZodType>(schema: T) {
  return { required: true, content: { 'application/json': { schema } } }
}

const problem = { description: 'Refused', content: { 'application/problem+json': { schema: problemSchema } } }

/** The refusals of every route: `...problems` in its `responses`. They are thrown, so handlers need not return them. */
export const problems = { '4XX': problem, '5XX': problem } as const

export const noContent = { description: 'Done; nothing to say' } as const
