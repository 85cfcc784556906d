import { z } from '@hono/zod-openapi'

const maxKeys = 50
const maxBytes = 16 * 1024

/** The product's own notes: strings to strings, at most 50 keys and 16 KiB as JSON. */
export const metadataSchema = z
  .record(z.string().min(1).max(128), z.string().max(maxBytes))
  .refine((metadata) => Object.keys(metadata).length <= maxKeys, { error: `Must have at most ${maxKeys} keys.` })
  .refine((metadata) => Buffer.byteLength(JSON.stringify(metadata)) <= maxBytes, {
    error: 'Must have at most 16 KiB as JSON.',
  })
  .openapi({ description: `Strings to strings: at most ${maxKeys} keys, 16 KiB as JSON.`, example: { plan: 'pro' } })
