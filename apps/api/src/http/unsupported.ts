import { z } from '@hono/zod-openapi'

const notSupportedYet = { params: { problem: 'not_supported_yet' } } as const

/**
 * A field of the contract that has no effect yet: null is taken, all else is refused, so that nothing is stored and then
 * ignored.
 */
export function onlyNull(description: string) {
  return z
    .unknown()
    .refine((value) => value === null, { error: 'Not supported yet: only null is taken.', ...notSupportedYet })
    .transform(() => null)
    .optional()
    .openapi({ type: 'null', description })
}
