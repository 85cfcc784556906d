import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDeps } from '../../app.ts'
import { json } from '../../http/responses.ts'
import { findUnreadiness } from './readiness.ts'

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  reasons: z.array(z.string()).openapi({ description: 'Empty when ready.' }),
})

export const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  tags: ['Health'],
  summary: 'Can the process serve?',
  description: 'The database answers, is migrated, and has the partitions of today and tomorrow.',
  security: [],
  responses: { 200: json(readinessSchema, 'It can'), 503: json(readinessSchema, 'It cannot, and why') },
})

export function registerReadyz(app: App, { pool }: RouteDeps): void {
  app.openapi(readyz, async (c) => {
    const reasons = await findUnreadiness(pool)
    c.header('cache-control', 'no-store')
    if (reasons.length === 0) return c.json({ status: 'ready' as const, reasons }, 200)
    c.header('retry-after', '2')
    return c.json({ status: 'not_ready' as const, reasons }, 503)
  })
}
