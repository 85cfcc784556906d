import { z } from '@hono/zod-openapi'
import { decodeId, isChannel, isEventTypeFilter, type Vault } from '@posthorn/core'
import { Prisma } from '@posthorn/core/prisma'
import { uidPattern } from '../../http/ids.ts'
import { metadataSchema } from '../../http/metadata.ts'
import { endpointOrdering, endpointStatus } from './endpoint.ts'
import { filterInput } from './filter.ts'
import { headersSchema } from './headers.ts'
import { rateLimitSchema } from './rate-limit.ts'
import { secretInput, signaturesSchema } from './secrets.ts'

const maxNames = 256

const url = z
  .string()
  .min(1)
  .max(2048)
  .refine((text) => !text.includes('#'), { error: 'Must have no fragment (from # on): it would never be sent.' })
  .openapi({ format: 'uri', example: 'https://example.com/hooks' })

const uid = z
  .string()
  .refine((text) => uidPattern.test(text), {
    error: 'Must be 1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or digit.',
  })
  // Paths name an endpoint by either.
  .refine((text) => decodeId('ep', text) === null, { error: "Must not look like an endpoint's id." })
  .openapi({ pattern: uidPattern.source, description: "The product's own id, unique in the tenant." })

const eventTypes = z
  .array(
    z.string().refine(isEventTypeFilter, {
      error: 'Must be an event type, or all below one (invoice.*), at most 128 long.',
    }),
  )
  .min(1, { error: 'Must not be empty: null takes all.' })
  .max(maxNames)
  .openapi({ example: ['invoice.*'], description: 'null takes all.' })

const channels = z
  .array(z.string().refine(isChannel, { error: 'Must be a channel: written as event types are, at most 128 long.' }))
  .min(1, { error: 'Must not be empty: null takes all.' })
  .max(maxNames)
  .openapi({ description: 'null takes all; else the event must share one.' })

const configuration = {
  uid: uid.nullable().optional(),
  description: z.string().max(1024).nullable().optional(),
  event_types: eventTypes.nullable().optional(),
  channels: channels.nullable().optional(),
  filter: filterInput.optional(),
  status: endpointStatus.nullable().optional(),
  headers: headersSchema.nullable().optional(),
  max_in_flight: z.int().min(1).max(1000).nullable().optional(),
  rate_limit: rateLimitSchema.nullable().optional().openapi({
    description: 'At most so many attempts begin in so many seconds, over all dispatchers. null is no limit.',
  }),
  timeout_ms: z.int().min(1000).max(30_000).nullable().optional(),
  retry_schedule: z
    .array(z.int().min(0).max(604_800))
    .max(20)
    .nullable()
    .optional()
    .openapi({
      description: 'Seconds after each attempt; [] is a single attempt, null the default.',
      example: [5, 300],
    }),
  ordering: endpointOrdering
    .nullable()
    .optional()
    .openapi({
      description:
        '`strict`: one attempt at a time, in publish order, a failing one holding back the rest. `by_key`: the same among events ' +
        'of one `ordering_key`; others flow past. Redeliveries join the tail. null is `none`.',
    }),
  signatures: signaturesSchema.nullable().optional(),
  metadata: metadataSchema.nullable().optional(),
}

export const endpointInput = z.strictObject({ url, ...configuration, secret: secretInput.nullable().optional() })
export const endpointPatchInput = z.strictObject({ url: url.optional(), ...configuration })

type Configuration = z.output<typeof endpointPatchInput>

export const defaultMaxInFlight = 20
export const defaultTimeoutMs = 15_000

/** The columns of the fields that are there, each whole; null is the default. `status`, `filter` and `signatures` are left to the
 * caller. */
export function toColumns(input: Configuration, vault: Vault) {
  const headers = input.headers ?? {}
  return {
    ...(input.url === undefined ? {} : { url: input.url }),
    ...(input.uid === undefined ? {} : { uid: input.uid }),
    ...(input.description === undefined ? {} : { description: input.description ?? '' }),
    ...(input.event_types === undefined ? {} : { eventTypes: input.event_types ?? [] }),
    ...(input.channels === undefined ? {} : { channels: input.channels ?? [] }),
    ...(input.max_in_flight === undefined ? {} : { maxInFlight: input.max_in_flight ?? defaultMaxInFlight }),
    ...(input.rate_limit === undefined ? {} : { rateLimit: input.rate_limit ?? Prisma.DbNull }),
    ...(input.timeout_ms === undefined ? {} : { timeoutMs: input.timeout_ms ?? defaultTimeoutMs }),
    ...(input.retry_schedule === undefined ? {} : { retrySchedule: input.retry_schedule ?? Prisma.DbNull }),
    ...(input.ordering === undefined ? {} : { ordering: input.ordering ?? 'none' }),
    ...(input.metadata === undefined ? {} : { metadata: input.metadata ?? {} }),
    ...(input.headers === undefined
      ? {}
      : {
          headerNames: Object.keys(headers),
          headersSealed: Object.keys(headers).length === 0 ? null : new Uint8Array(vault.seal(JSON.stringify(headers))),
        }),
  }
}
