import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { json } from '../../http/responses.ts'
import { timeSchema, writeTimeOrNull } from '../../http/time.ts'
import { createOldestDue } from './oldest-due.ts'
import { findUnreadiness } from './readiness.ts'

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  reasons: z.array(z.string()).openapi({ description: 'Empty when ready.' }),
  oldest_due_at: timeSchema.nullable().openapi({
    description:
      'Since when the oldest delivery is due that may be attempted: not those of paused or blocked endpoints. At most 5 s old; null when there is none, or it cannot be told in time.',
  }),
  oldest_due_age_seconds: z.number().min(0).nullable(),
})

export const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  tags: ['Health'],
  summary: 'Can the process serve?',
  description:
    'The database answers, is migrated, and has the partitions of today and tomorrow. The age of the oldest work is told beside it, and makes nothing unready.',
  security: [],
  responses: { 200: json(readinessSchema, 'It can'), 503: json(readinessSchema, 'It cannot, and why') },
})

export function registerReadyz(app: App, { pool, log }: RouteDeps): void {
  const oldestDue = createOldestDue({ pool, log })
  app.openapi(readyz, async (c) => {
    const [reasons, oldest] = await Promise.all([findUnreadiness(pool), oldestDue()])
    const detail = {
      reasons,
      oldest_due_at: writeTimeOrNull(oldest?.dueAt ?? null),
      oldest_due_age_seconds: oldest === null ? null : Math.round(oldest.ageSeconds * 1000) / 1000,
    }
    c.header('cache-control', 'no-store')
    if (reasons.length === 0) return c.json({ status: 'ready' as const, ...detail }, 200)
    c.header('retry-after', '2')
    return c.json({ status: 'not_ready' as const, ...detail }, 503)
  })
}
