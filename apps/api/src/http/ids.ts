import { z } from '@hono/zod-openapi'
import {
  decodeId,
  encodeId,
  type IdPrefix,
  isEventType,
  isTenantId,
  maxEventTypeLength,
  tenantIdPattern,
} from '@posthorn/core'
import { unprocessable } from './parameters.ts'

/** Lower-case with dashes: what cursors carry. */
export const uuidSchema = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

/** An id in an answer. */
export function idSchema(prefix: IdPrefix) {
  return z.string().openapi({
    pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
    example: encodeId(prefix, '01920000-0000-7000-8000-000000000000'),
  })
}

/** An id in a path: read to its UUID; a malformed one is unknown, so 404. */
export function idParameter(prefix: IdPrefix, name: string) {
  return z
    .string()
    .refine((text) => decodeId(prefix, text) !== null)
    .transform((text) => decodeId(prefix, text)!)
    .openapi({ type: 'string', param: { name, in: 'path' } })
}

const tenantExample = {
  type: 'string',
  pattern: tenantIdPattern.source,
  example: 'acme',
  param: { name: 'tenant', in: 'path' },
} as const
const tenantRule = 'Must be 1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or digit, and not "posthorn".'

export const tenantIdSchema = z
  .string()
  .refine(isTenantId, { error: tenantRule })
  .openapi({ type: 'string', pattern: tenantIdPattern.source, example: 'acme' })

/** The tenant in the path of a route that reads or changes what is there: a malformed name is unknown, so 404. */
export const tenantParameter = z
  .string()
  .refine((text) => tenantIdPattern.test(text))
  .openapi(tenantExample)

/** The tenant in the path of a route that makes it when it is new: a malformed or reserved name is 422. */
export const newTenantParameter = z
  .string()
  .refine(isTenantId, { error: tenantRule, ...unprocessable })
  .openapi(tenantExample)

/** As `newTenantParameter`, where the reserved tenant may be named as well: it has endpoints, and no tokens of its own. */
export const endpointTenantParameter = z
  .string()
  .refine((text) => tenantIdPattern.test(text), {
    error: 'Must be 1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or digit.',
    ...unprocessable,
  })
  .openapi(tenantExample)

// As tenants' ids: it stands in paths.
export const uidPattern = tenantIdPattern

/** An endpoint in a path: its id or its uid. */
export const endpointParameter = z
  .string()
  .refine((text) => uidPattern.test(text))
  .openapi({ type: 'string', description: 'Its id or its `uid`.', param: { name: 'endpoint', in: 'path' } })

const eventTypeRule = 'Must be words of A-Z a-z 0-9 _ - joined by full stops, at most 128 long.'

export const eventTypeSchema = z
  .string()
  .refine(isEventType, { error: eventTypeRule })
  .openapi({ type: 'string', maxLength: maxEventTypeLength, example: 'invoice.paid' })

/** An event type in the path of a route that makes it. */
export const newEventTypeParameter = z
  .string()
  .refine(isEventType, { error: eventTypeRule, ...unprocessable })
  .openapi({ type: 'string', example: 'invoice.paid', param: { name: 'name', in: 'path' } })

export const eventTypeParameter = z
  .string()
  .refine(isEventType)
  .openapi({ type: 'string', example: 'invoice.paid', param: { name: 'name', in: 'path' } })
