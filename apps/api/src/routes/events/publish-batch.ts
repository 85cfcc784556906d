import { createRoute, z } from '@hono/zod-openapi'
import { scanBatch } from '@posthorn/core'
import type { App } from '../../app.ts'
import { requireJson } from '../../http/content-type.ts'
import { newTenantParameter } from '../../http/ids.ts'
import { readBody } from '../../http/read-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { eventSchema } from './event.ts'
import { accepted, type PublishDeps, publishTenant } from './publish.ts'
import {
  batchInput,
  idempotencyHeader,
  maxBatchBytes,
  maxBatchEvents,
  readEvents,
  readIdempotencyKey,
} from './publish-input.ts'

export const eventPublishBatch = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/events/batch',
  operationId: 'publishEventBatch',
  tags: ['Events'],
  summary: 'Publish many events, all or none',
  description: `Up to ${maxBatchEvents} events and 16 MiB. The idempotency key covers the whole request.`,
  request: {
    params: z.object({ tenant: newTenantParameter }),
    headers: idempotencyHeader,
    body: jsonRequest(batchInput),
  },
  responses: { 202: json(z.object({ data: z.array(eventSchema) }), 'Accepted, in the order given'), ...problems },
})

export function registerEventPublishBatch(app: App, { config, gatherer, checkPublish }: PublishDeps): void {
  const limits = { maxPayloadBytes: config.maxPayloadBytes, maxEvents: maxBatchEvents }
  app.openAPIRegistry.registerPath(eventPublishBatch)
  app.post('/v1/tenants/:tenant/events/batch', async (c) => {
    const tenantId = publishTenant(c, c.req.param('tenant'))
    requireJson(c)
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const body = await readBody(c, maxBatchBytes)
    const events = readEvents(body, scanBatch(body, limits))
    const request = { tenantId, idempotencyKey, events }
    await checkPublish(request, (place) => `/events/${place}`)
    const result = await gatherer.publish(request)
    const { text, headers } = accepted(result, events, tenantId, (data) => ({ data }))
    return c.body(text, 202, headers)
  })
}
