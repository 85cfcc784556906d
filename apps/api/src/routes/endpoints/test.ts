import { setTimeout as sleep } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import { scanEnvelope } from '@posthorn/core'
import type { AttemptRow } from '@posthorn/core/sql'
import type { Context } from 'hono'
import type { App, AppEnv } from '../../app.ts'
import { ApiProblem, notFound } from '../../http/api-problem.ts'
import { requireJson } from '../../http/content-type.ts'
import { eventTypeSchema } from '../../http/ids.ts'
import { problemFromParameters } from '../../http/parameters.ts'
import { readBody } from '../../http/read-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { problemFromZod } from '../../http/zod-problem.ts'
import type { Doorbell } from '../../publish/doorbell.ts'
import type { TenantRouteDeps, TenantStore } from '../../tenancy/tenant-store.ts'
import { attemptSchema, presentAttempt } from '../deliveries/attempt.ts'
import { deliverySchema, presentDelivery } from '../deliveries/delivery.ts'
import { envelopeAllowanceBytes } from '../events/publish-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'

const waitMs = 30_000
const shortestPauseMs = 50
const longestPauseMs = 500

const testInput = z
  .strictObject({
    type: eventTypeSchema.optional(),
    payload: z
      .any()
      .optional()
      .openapi({ description: 'Any JSON value. Sent byte for byte as it stands in the request.' }),
  })
  .openapi('EndpointTest')

export const endpointTest = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/test',
  operationId: 'testEndpoint',
  tags: ['Endpoints'],
  summary: 'Send a test event to one endpoint',
  description:
    'An ordinary event, `posthorn.test` by default, owed to this endpoint alone, whatever its filter says. Waits for the first attempt, for up to 30 s. The body may be left out.',
  request: { params: endpointParameters, body: { ...jsonRequest(testInput), required: false } },
  responses: {
    200: json(attemptSchema, 'The first attempt'),
    202: json(deliverySchema, 'Owed, and not attempted yet'),
    ...problems,
  },
})

export type EndpointTestDeps = TenantRouteDeps & { doorbell: Pick<Doorbell, 'ring'> }

/** Registered beside the framework's validation: see the publish route. */
export function registerEndpointTest(app: App, { config, tenantOf, doorbell }: EndpointTestDeps): void {
  app.openAPIRegistry.registerPath(endpointTest)
  app.post('/v1/tenants/:tenant/endpoints/:endpoint/test', async (c) => {
    const parameters = endpointParameters.safeParse(c.req.param())
    if (!parameters.success) throw problemFromParameters(parameters.error, c.req.param())
    const tenant = tenantOf(c)
    const event = await readTestEvent(c, config.maxPayloadBytes)
    const endpoint = await tenant.endpoints.find(parameters.data.endpoint)
    const eventId = await tenant.publishTest(endpoint, event)
    if (eventId === null) throw new ApiProblem('state_conflict', 'The endpoint is disabled.')
    doorbell.ring([endpoint.id])
    const attempt = await firstAttempt(tenant, { eventId, endpointId: endpoint.id }, c.req.raw.signal)
    if (attempt !== null) return c.json(presentAttempt(attempt), 200)
    const delivery = await tenant.readDelivery(eventId, endpoint.id)
    if (delivery === null) throw notFound('delivery')
    return c.json(presentDelivery(tenant.tenantId, delivery), 202)
  })
}

async function readTestEvent(c: Context<AppEnv>, maxPayloadBytes: number) {
  const body = await readBody(c, maxPayloadBytes + envelopeAllowanceBytes)
  const given = body.length > 0 || c.req.header('content-type') !== undefined
  if (given) requireJson(c)
  const { fields, payload } = scanEnvelope(body.length === 0 ? Buffer.from('{}') : body, { maxPayloadBytes })
  const parsed = testInput.safeParse(fields)
  if (!parsed.success) throw problemFromZod(parsed.error)
  const type = parsed.data.type ?? 'posthorn.test'
  if (payload !== null) return { type, payload: body.subarray(payload.start, payload.end) }
  const sample = { type, timestamp: new Date().toISOString(), data: { message: 'A test of this endpoint.' } }
  return { type, payload: Buffer.from(JSON.stringify(sample)) }
}

type Delivery = { eventId: string; endpointId: string }

/** Null when none is there in time, the delivery ended without one, or the caller went away. */
async function firstAttempt(tenant: TenantStore, delivery: Delivery, signal: AbortSignal): Promise<AttemptRow | null> {
  const deadline = performance.now() + waitMs
  for (let pauseMs = shortestPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const left = deadline - performance.now()
    if (left <= 0) return null
    try {
      await sleep(Math.min(pauseMs, left), undefined, { signal })
    } catch {
      return null
    }
    const attempts = await tenant.listAttempts({ ...delivery, limit: 10 })
    const first = attempts.findLast((attempt) => attempt.outcome !== 'superseded')
    if (first !== undefined) return first
    const state = (await tenant.readDelivery(delivery.eventId, delivery.endpointId))?.state
    if (state === 'canceled' || state === 'failed' || state === undefined) return null
  }
  return null
}
