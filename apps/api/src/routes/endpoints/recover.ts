import { createRoute, z } from '@hono/zod-openapi'
import { decodeId } from '@posthorn/core'
import { idBounds, maxRecoveries, type RecoverRefusal, recoverStates, uuidTime } from '@posthorn/core/sql'
import type { App } from '../../app.ts'
import { ApiProblem, invalid, notFound } from '../../http/api-problem.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import { timeInput, timeSchema, writeTimeOrNull } from '../../http/time.ts'
import type { TenantRouteDeps } from '../../tenancy/tenant-store.ts'
import { jobSchema, presentJob } from '../jobs/job.ts'
import { endpointParameters } from './endpoint-parameters.ts'

/** How long a dry run may count. */
const dryRunMs = 15_000

const recoverInput = z
  .strictObject({
    since: timeInput.openapi({
      description: "Inclusive, on the events' created_at; at most as old as the retention.",
    }),
    until: timeInput.nullable().optional().openapi({ description: 'Exclusive; now when left out, or in the future.' }),
    states: z
      .array(z.enum(recoverStates))
      .min(1)
      .max(recoverStates.length)
      .nullable()
      .optional()
      .openapi({ description: 'All three when left out.' }),
    dry_run: z.boolean().nullable().optional().openapi({ description: 'Only count. Writes nothing.' }),
  })
  .openapi('Recovery')

const count = z.int().min(0)

const recoverCountSchema = z
  .object({
    total: count,
    failed: count,
    canceled: count,
    missed: count,
    counted_until: timeSchema.nullable().openapi({
      description:
        'Null when the whole range was counted. Else the time was up: this is where the counting ended, and there may be more.',
    }),
  })
  .openapi('RecoveryCount')

export const endpointRecover = createRoute({
  method: 'post',
  path: '/v1/tenants/{tenant}/endpoints/{endpoint}/recover',
  operationId: 'recoverEndpoint',
  tags: ['Endpoints'],
  summary: 'Owe again what an endpoint has not got',
  description:
    'Over a range of time: what `failed`, what was `canceled`, and what was `missed`, which is what matches the filter that the endpoint has now and was never owed to it, because it was disabled, did not exist, or had another filter. ' +
    'A job owes them again in publish order, each with a fresh schedule and its `webhook-id`; attempts are numbered on. What has succeeded, or is owed already, is left alone. ' +
    'Recoveries of one endpoint run one after another. Once the endpoint is disabled or deleted, the job fails.',
  middleware: [jsonBody],
  request: { params: endpointParameters, body: jsonRequest(recoverInput) },
  responses: {
    200: json(recoverCountSchema, 'With `dry_run`: how many there are'),
    202: json(jobSchema, 'A job owes them again'),
    ...problems,
  },
})

export function registerEndpointRecover(app: App, { config, tenantOf }: TenantRouteDeps): void {
  app.openapi(endpointRecover, async (c) => {
    const { endpoint } = c.req.valid('param')
    const tenant = tenantOf(c)
    const input = c.req.valid('json')
    const { since, until } = periodOf(input, config.retentionMs)
    const states = [...new Set(input.states ?? recoverStates)]
    // A deleted endpoint is known by its id still: it is told why nothing is recovered.
    const endpointId = decodeId('ep', endpoint) ?? (await tenant.endpoints.find(endpoint)).id

    if (input.dry_run !== true) {
      const job = await tenant.recover(endpointId, { states, since, until })
      if (typeof job === 'string') throw problemOf(job)
      return c.json(presentJob(job), 202)
    }
    const refusal = await tenant.refuseRecovery(endpointId)
    if (refusal !== null) throw problemOf(refusal)
    const { low } = idBounds({ since })
    const { low: high } = idBounds({ since: until ?? new Date(Date.now() + 1) })
    const range = { states, low, high }
    const { next, failed, canceled, missed } = await tenant.countRecoverable(endpointId, range, { budgetMs: dryRunMs })
    const countedUntil = writeTimeOrNull(next === null ? null : uuidTime(next))
    const total = failed + canceled + missed
    return c.json({ total, failed, canceled, missed, counted_until: countedUntil }, 200)
  })
}

/** @throws ApiProblem 422 for a range that is empty or reaches past the retention */
function periodOf(
  { since, until }: z.output<typeof recoverInput>,
  retentionMs: number,
): { since: Date; until: Date | null } {
  const now = Date.now()
  if (since.getTime() < now - retentionMs) {
    throw invalid('/since', `Must be at most ${describe(retentionMs)} ago: older events are no longer kept.`)
  }
  if (since.getTime() > now) throw invalid('/since', 'Must not be in the future.')
  if (until instanceof Date && until <= since) throw invalid('/until', 'Must be after `since`.')
  return { since, until: until instanceof Date && until.getTime() < now ? until : null }
}

function describe(ms: number): string {
  const hours = Math.floor(ms / 3_600_000)
  return hours % 24 === 0 ? `${hours / 24} days` : `${hours} hours`
}

function problemOf(refusal: RecoverRefusal): ApiProblem {
  if (refusal === 'endpoint_missing') return notFound('endpoint')
  if (refusal === 'endpoint_deleted') return new ApiProblem('state_conflict', 'The endpoint is deleted.')
  if (refusal === 'endpoint_disabled')
    return new ApiProblem('state_conflict', 'The endpoint is disabled: enable it first.')
  return new ApiProblem(
    'state_conflict',
    `${maxRecoveries} recoveries of the endpoint are under way: wait for one to end.`,
  )
}
