import { createRoute, z } from '@hono/zod-openapi'
import { type AttemptStats, type Backlog, maxCounted } from '@posthorn/core/sql'
import type { App } from '../../app.ts'
import { invalid, notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { timeInput, timeSchema, writeTime, writeTimeOrNull } from '../../http/time.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { latencyOf } from './latency.ts'

const defaultPeriodMs = 86_400_000

const count = z.int().min(0)
const ms = z.int().min(0)

const statsSchema = z
  .object({
    since: timeSchema.openapi({
      description:
        'Later than asked for when the tenant has published too much since: all attempts from here on are counted.',
    }),
    until: timeSchema,
    attempts: count.openapi({
      description:
        'Requests that began in the time. Those that their dispatcher did not live to see the end of are neither succeeded nor failed.',
    }),
    succeeded: count,
    failed: count,
    success_rate: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .openapi({ description: 'succeeded / attempts; null without attempts.' }),
    latency_ms: z.object({ p50: ms, p95: ms, p99: ms }).nullable(),
    backlog: z
      .object({ pending: count, scheduled: count, in_flight: count })
      .openapi({ description: `As it is now. Each is counted up to ${maxCounted}.` }),
    oldest_due_at: timeSchema
      .nullable()
      .openapi({ description: 'Since when the delivery that has waited longest is due.' }),
    lane: z.object({
      blocked_until: timeSchema.nullable().openapi({ description: 'Until then nothing is attempted.' }),
      failures_in_a_row: count,
    }),
  })
  .openapi('Stats')

const statsQuery = z.strictObject({
  since: timeInput
    .optional()
    .openapi({ description: 'Inclusive; a day before `until` when left out; at most as old as the retention.' }),
  until: timeInput.optional().openapi({ description: 'Exclusive; now when left out.' }),
})

export const endpointStats = createRoute({
  method: 'get',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/stats',
  operationId: 'getEndpointStats',
  tags: ['Endpoints'],
  summary: 'How an endpoint does',
  description: 'What was attempted in a time, and what is owed and how the lane is now.',
  request: { params: endpointParameters, query: statsQuery },
  responses: { 200: json(statsSchema, 'The figures'), ...problems },
})

export function registerEndpointStats(app: App, { config, tenantOf }: TenantRouteDeps): void {
  app.openapi(endpointStats, async (c) => {
    const { since, until, oldest } = periodOf(c.req.valid('query'), config.retentionMs)
    const tenant = tenantOf(c)
    const endpoint = await tenant.endpoints.find(c.req.valid('param').endpoint)
    const ended = until.getTime() < Date.now() ? until : null
    const [attempts, backlog] = await Promise.all([
      tenant.countAttempts(endpoint, { since, until: ended, oldest }),
      tenant.readBacklog(endpoint),
    ])
    if (backlog === null) throw notFound('endpoint')
    return c.json(present(attempts, backlog, until), 200)
  })
}

/** @throws ApiProblem 422 for a time that ends before it begins */
function periodOf(query: z.output<typeof statsQuery>, retentionMs: number): { since: Date; until: Date; oldest: Date } {
  const now = Date.now()
  const until = Math.min(query.until?.getTime() ?? now, now)
  const since = query.since?.getTime() ?? until - defaultPeriodMs
  if (since >= until) throw invalid('/since', 'Must be before `until`, and not in the future.')
  const oldest = now - retentionMs
  return { since: new Date(Math.max(since, oldest)), until: new Date(until), oldest: new Date(oldest) }
}

function present(attempts: AttemptStats, backlog: Backlog, until: Date): z.infer<typeof statsSchema> {
  const { succeeded, failed, leaseLost } = attempts
  const all = succeeded + failed + leaseLost
  return {
    since: writeTime(attempts.since),
    until: writeTime(until),
    attempts: all,
    succeeded,
    failed,
    success_rate: all === 0 ? null : succeeded / all,
    latency_ms: latencyOf(attempts.durations),
    backlog: { pending: backlog.pending, scheduled: backlog.scheduled, in_flight: backlog.inFlight },
    oldest_due_at: writeTimeOrNull(backlog.oldestDueAt),
    lane: {
      blocked_until: writeTimeOrNull(backlog.blockedUntil),
      failures_in_a_row: backlog.failuresInARow,
    },
  }
}
