import { createRoute, z } from '@hono/zod-openapi'
import { encodeId, scanEnvelope } from '@posthorn/core'
import type { MatchQuestion } from '@posthorn/core/sql'
import type { App } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { requireJson } from '../../http/content-type.ts'
import { eventTypeSchema, idSchema } from '../../http/ids.ts'
import { problemFromParameters } from '../../http/parameters.ts'
import { readBody } from '../../http/read-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { problemFromZod } from '../../http/zod-problem.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { channelSchema, maxChannels } from '../events/event.ts'
import { envelopeAllowanceBytes } from '../events/publish-input.ts'
import { endpointParameters } from './endpoint-parameters.ts'
import { reasonSchema, reasonsOf } from './match-reasons.ts'

const maxLast = 100

const sampleInput = z.strictObject({
  type: eventTypeSchema,
  payload: z
    .any()
    .refine((span) => span !== undefined, { error: 'Required.' })
    .openapi({ description: 'Any JSON value.', example: { type: 'invoice.paid', data: { id: 1042, total: 99.5 } } }),
  channels: z.array(channelSchema).min(1).max(maxChannels).nullable().optional(),
})
const lastInput = z.strictObject({
  last: z.int().min(1).max(maxLast).openapi({
    description: "How many of the tenant's newest events; fewer come when they are larger than 16 MiB together.",
  }),
})
const matchInput = z.union([sampleInput, lastInput]).openapi('MatchQuestion')

const matchSchema = z
  .object({
    event_id: idSchema('evt')
      .nullable()
      .openapi({ type: ['string', 'null'], description: 'null for a sample.' }),
    type: eventTypeSchema,
    matches: z.boolean().openapi({ description: 'Whether it would be owed to the endpoint, were it published now.' }),
    reasons: z.array(reasonSchema).openapi({ description: 'Why not; empty when it matches.' }),
  })
  .openapi('Match')

const matchesSchema = z.object({ data: z.array(matchSchema) }).openapi('Matches')

export const endpointMatches = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/matches',
  operationId: 'matchEndpoint',
  tags: ['Endpoints'],
  summary: 'Ask whether events would be owed to an endpoint, and why not',
  description:
    "Of a sample, or of the tenant's newest events, newest first. Decided as a publish decides it, by the endpoint's status, event " +
    'types, channels and filter as they are now. Writes nothing.',
  request: { params: endpointParameters, body: jsonRequest(matchInput) },
  responses: { 200: json(matchesSchema, 'One for each event'), ...problems },
})

/** Registered beside the framework's validation: see the publish route. */
export function registerEndpointMatches(app: App, { config, tenantOf }: TenantRouteDeps): void {
  const { maxPayloadBytes } = config
  app.openAPIRegistry.registerPath(endpointMatches)
  app.post('/v1/tenants/:tenant/endpoints/:endpoint/matches', async (c) => {
    const parameters = endpointParameters.safeParse(c.req.param())
    if (!parameters.success) throw problemFromParameters(parameters.error, c.req.param())
    const tenant = tenantOf(c)
    requireJson(c)
    const question = readQuestion(await readBody(c, maxPayloadBytes + envelopeAllowanceBytes), maxPayloadBytes)
    const endpoint = await tenant.endpoints.find(parameters.data.endpoint)
    const found = await tenant.matchEvents(endpoint, question)
    if (found === null) throw notFound('endpoint')
    const data = found.answers.map((answer) => {
      const reasons = reasonsOf(endpoint.id, found, answer)
      const eventId = answer.eventId === null ? null : encodeId('evt', answer.eventId)
      return { event_id: eventId, type: answer.type, matches: reasons.length === 0, reasons }
    })
    return c.json({ data }, 200)
  })
}

/** @throws ApiProblem 422 with all that is wrong */
function readQuestion(body: Buffer, maxPayloadBytes: number): MatchQuestion {
  const { fields, payload } = scanEnvelope(body, { maxPayloadBytes })
  if (Object.hasOwn(fields, 'last')) {
    const last = lastInput.safeParse(payload === null ? fields : { ...fields, payload })
    if (!last.success) throw problemFromZod(last.error)
    return last.data
  }
  const sample = sampleInput.safeParse({ ...fields, payload: payload ?? undefined })
  if (!sample.success) throw problemFromZod(sample.error)
  const { type, channels } = sample.data
  return { type, channels: channels ?? null, payload: body.subarray(payload!.start, payload!.end) }
}
