import { z } from '@hono/zod-openapi'
import { filterLimits, filterPath, readFilter } from '@posthorn/core'
import type { App } from '../../app.ts'
import type { EndpointFilter } from '../../tenancy/endpoint-filter.ts'

const name = 'Filter'
const itself = { $ref: `#/components/schemas/${name}` }
const nullable = {
  anyOf: [itself, { type: 'null' as const }],
  description: 'Over the payload: see docs/filters.md. null takes all.',
  example: { path: '/data/total', gte: 100 },
}

/**
 * The body's filter as its own JSON text (exact-member.ts), read and written as it is kept.
 * @returns null when it takes all
 */
export const filterInput = z
  .any()
  .transform((json: string, context): EndpointFilter | null => {
    if (json === 'null') return null
    const read = readFilter(json)
    if (!('faults' in read)) return { text: read.text, path: filterPath(read.filter) }
    for (const { at, message } of read.faults) context.addIssue({ code: 'custom', path: [...at], message })
    return z.NEVER
  })
  .openapi(nullable)

/** A filter as it is shown: as it was given, each number with all its digits. */
export const filterSchema = z
  .unknown()
  .refine((filter) => filter !== undefined)
  .openapi(nullable)

type Types = ('string' | 'number' | 'boolean' | 'null')[]
const scalar: { type: Types } = { type: ['string', 'number', 'boolean', 'null'] }
const comparable: { type: Types } = { type: ['number', 'string'] }

/** The one schema of the contract that is written by hand: it is of itself, and what reads it is no schema. */
export function registerFilterSchema(app: App): void {
  const { openAPIRegistry } = app
  const only = (member: string, schema: object) => ({
    type: 'object' as const,
    properties: { [member]: schema },
    required: [member],
    additionalProperties: false,
  })
  const several = { type: 'array', items: itself, minItems: 1, maxItems: filterLimits.cost }
  openAPIRegistry.registerComponent('schemas', name, {
    description: 'A filter over the payload: a condition, or several joined by `and`, `or` and `not`.',
    anyOf: [
      {
        type: 'object',
        description:
          'What is at `path` must be all that is asked of it. A path that leads nowhere meets `exists: false` alone.',
        properties: {
          path: {
            type: 'string',
            pattern: '^(/([^~]|~[01])*)?$',
            maxLength: filterLimits.pathLength,
            description: 'A JSON pointer into the payload; the empty one is the whole.',
            example: '/data/total',
          },
          equals: scalar,
          in: { type: 'array', items: scalar, minItems: 1, maxItems: filterLimits.values },
          exists: { type: 'boolean' },
          prefix: { type: 'string', minLength: 1, maxLength: filterLimits.textLength },
          gt: comparable,
          gte: comparable,
          lt: comparable,
          lte: comparable,
        },
        required: ['path'],
        additionalProperties: false,
      },
      only('and', several),
      only('or', several),
      only('not', itself),
    ],
  })
}
