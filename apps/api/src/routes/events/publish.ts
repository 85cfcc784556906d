import { createRoute, z } from '@hono/zod-openapi'
import { isTenantId, scanEnvelope } from '@posthorn/core'
import type { PublishEvent, PublishResult } from '@posthorn/core/sql'
import type { Context } from 'hono'
import type { App, AppEnv, RouteDeps } from '../../app.ts'
import type { PublishCheck } from '../../catalogue/check-publish.ts'
import { ApiProblem } from '../../http/api-problem.ts'
import { requireJson } from '../../http/content-type.ts'
import { newTenantParameter } from '../../http/ids.ts'
import { problemFromParameters } from '../../http/parameters.ts'
import { readBody } from '../../http/read-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { Gatherer } from '../../publish/gatherer.ts'
import { eventSchema, presentEvent } from './event.ts'
import {
  envelopeAllowanceBytes,
  idempotencyHeader,
  publishInput,
  readEvent,
  readIdempotencyKey,
} from './publish-input.ts'

export type PublishDeps = Pick<RouteDeps, 'config'> & { gatherer: Gatherer; checkPublish: PublishCheck }

/** Publishes the event in a request's body, and writes the answer. @throws what the app's handler of errors knows */
export type PublishOne = (tenantId: string, idempotencyKey: string | null, body: Buffer) => Promise<Accepted>
/** The text of a 202. */
type Accepted = { text: string; headers: Record<string, string> }

const path = '/v1/tenants/:tenant/events'
const params = z.object({ tenant: newTenantParameter })

export const eventPublish = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/events',
  operationId: 'publishEvent',
  tags: ['Events'],
  summary: 'Publish an event',
  description: 'Answered once it is committed. What is attempted is the very text of `payload`.',
  request: { params, headers: idempotencyHeader, body: jsonRequest(publishInput) },
  responses: { 202: json(eventSchema, 'Accepted; `Idempotent-Replayed: true` when it had been before'), ...problems },
})

export function createPublishOne({ config, gatherer, checkPublish }: PublishDeps): PublishOne {
  const limits = { maxPayloadBytes: config.maxPayloadBytes }
  return async (tenantId, idempotencyKey, body) => {
    const event = readEvent(body, scanEnvelope(body, limits))
    const request = { tenantId, idempotencyKey, events: [event] }
    // Nothing to wait for, mostly.
    const checking = checkPublish(request, () => '')
    if (checking !== undefined) await checking
    const result = await gatherer.publish(request)
    return accepted(result, request.events, tenantId, (events) => events[0]!)
  }
}

/**
 * Registered beside the framework's validation, which would parse the whole body: the schema checks the envelope alone,
 * after one scan over the bytes.
 */
export function registerEventPublish(app: App, { config }: Pick<PublishDeps, 'config'>, publishOne: PublishOne): void {
  const maxBodyBytes = config.maxPayloadBytes + envelopeAllowanceBytes
  app.openAPIRegistry.registerPath(eventPublish)
  app.post(path, async (c) => {
    const tenantId = publishTenant(c, c.req.param('tenant'))
    requireJson(c)
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const body = await readBody(c, maxBodyBytes)
    const { text, headers } = await publishOne(tenantId, idempotencyKey, body)
    return c.body(text, 202, headers)
  })
}

/** @throws ApiProblem 422 for a name that no tenant can have */
export function publishTenant(c: Context<AppEnv>, tenant: string): string {
  if (isTenantId(tenant)) return tenant
  const { error } = params.safeParse({ tenant })
  throw problemFromParameters(error!, c.req.param())
}

const written = { 'content-type': 'application/json' }
const replayed = { ...written, 'idempotent-replayed': 'true' }

/** @throws ApiProblem 422 when the key was used with other content */
export function accepted(
  result: PublishResult,
  given: readonly PublishEvent[],
  tenantId: string,
  shape: (events: z.infer<typeof eventSchema>[]) => object,
): Accepted {
  if (result.outcome === 'reused') throw new ApiProblem('idempotency_key_reused')
  const events = result.events.map(({ id, deliveries }, place) => {
    const { type, channels, orderingKey, deliverAt } = given[place]!
    return presentEvent({ id, tenantId, type, channels, orderingKey, deliverAt, deliveries })
  })
  return { text: JSON.stringify(shape(events)), headers: result.outcome === 'replayed' ? replayed : written }
}
