import { createRoute, z } from '@hono/zod-openapi'
import type { App } from '../../app.ts'
import { json } from '../../http/responses.ts'

export const healthz = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  tags: ['Health'],
  summary: 'Is the process alive?',
  security: [],
  responses: { 200: json(z.object({ status: z.literal('ok') }), 'Alive, whatever else is') },
})

export function registerHealthz(app: App): void {
  app.openapi(healthz, (c) => {
    c.header('cache-control', 'no-store')
    return c.json({ status: 'ok' as const }, 200)
  })
}
