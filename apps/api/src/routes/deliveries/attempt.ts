import { isUtf8 } from 'node:buffer'
import { z } from '@hono/zod-openapi'
import { attemptErrorCodes, attemptErrors, attemptPhases, encodeId } from '@posthorn/core'
import type { AttemptRow } from '@posthorn/core/sql'
import { idSchema } from '../../http/ids.ts'
import { timeSchema, writeTime } from '../../http/time.ts'
import { maskedValue } from '../endpoints/headers.ts'

const errorRows = attemptErrorCodes.map((code) => `| \`${code}\` | ${attemptErrors[code]} |`)

const headers = z.record(z.string(), z.string())

/** An attempt as the contract shows it. */
export const attemptSchema = z
  .object({
    id: idSchema('att'),
    event_id: idSchema('evt'),
    endpoint_id: idSchema('ep'),
    number: z.int().min(1),
    started_at: timeSchema,
    duration_ms: z.int().nullable(),
    url: z.string().nullable(),
    outcome: z.enum(['succeeded', 'failed', 'lease_lost', 'superseded']).openapi({
      description:
        '`lease_lost`: the dispatcher died or stalled, and what came of it is not known. `superseded`: it came back after its lease was reclaimed; it never decides a state.',
    }),
    state: z
      .enum(['pending', 'scheduled', 'succeeded', 'failed', 'canceled'])
      .openapi({ description: 'In which it left the delivery.' }),
    error: z
      .object({
        code: z.string().openapi({ description: `| code | meaning |\n|---|---|\n${errorRows.join('\n')}` }),
        phase: z
          .string()
          .nullable()
          .openapi({ description: `How far it had come: ${attemptPhases.join(', ')}.` }),
        message: z.string().nullable().openapi({ description: 'For people.' }),
      })
      .nullable(),
    request: z.object({
      headers: headers.openapi({ description: "Values of the endpoint's own headers are masked." }),
    }),
    response: z
      .object({
        status: z.int(),
        headers: headers.openapi({ description: 'Names in lower case; a repeated one has its values joined by ", ".' }),
        body: z.string(),
        body_encoding: z.enum(['utf8', 'base64']),
        truncated: z.boolean(),
      })
      .nullable(),
  })
  .openapi('Attempt')

export function presentAttempt(row: AttemptRow): z.infer<typeof attemptSchema> {
  return {
    id: encodeId('att', row.id),
    event_id: encodeId('evt', row.eventId),
    endpoint_id: encodeId('ep', row.endpointId),
    number: row.number,
    started_at: writeTime(row.startedAt),
    duration_ms: row.durationMs,
    url: row.url,
    outcome: row.outcome,
    state: row.state,
    error: row.errorCode === null ? null : { code: row.errorCode, phase: row.errorPhase, message: row.errorMessage },
    request: { headers: requestHeaders(row) },
    response: response(row),
  }
}

/** What was sent, as far as it was: what is not stored follows from the delivery. */
function requestHeaders(row: AttemptRow): Record<string, string> {
  if (row.signature === null) return {}
  const own = (row.headerNames ?? []).map((name) => [name, maskedValue] as const)
  return {
    'webhook-id': encodeId('evt', row.eventId),
    'webhook-timestamp': String(Math.floor(row.startedAt.getTime() / 1000)),
    'webhook-signature': row.signature,
    'posthorn-event-type': row.eventType,
    'content-type': 'application/json',
    ...(row.userAgent === null ? {} : { 'user-agent': row.userAgent }),
    ...Object.fromEntries(own),
  }
}

function response(row: AttemptRow): z.infer<typeof attemptSchema>['response'] {
  if (row.status === null) return null
  return {
    status: row.status,
    headers: joined(JSON.parse(row.responseHeaders ?? '[]') as [string, string][]),
    ...written(row.responseBody ?? Buffer.alloc(0), row.truncated),
    truncated: row.truncated,
  }
}

function joined(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase()
    const before = values.get(lower)
    values.set(lower, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(values)
}

/** As text where the bytes are text; a body that was cut may have lost the end of its last character. */
function written(body: Buffer, truncated: boolean): { body: string; body_encoding: 'utf8' | 'base64' } {
  for (let cut = 0; cut <= (truncated ? 3 : 0) && cut <= body.length; cut++) {
    const kept = body.subarray(0, body.length - cut)
    if (isUtf8(kept) && !kept.includes(0)) return { body: kept.toString('utf8'), body_encoding: 'utf8' }
  }
  return { body: body.toString('base64'), body_encoding: 'base64' }
}
