import { setImmediate } from 'node:timers/promises'
import { createRoute, z } from '@hono/zod-openapi'
import { encodeId } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { walkEventsOfType } from '@posthorn/core/sql'
import type { App } from '../../app.ts'
import type { CompiledSchema } from '../../catalogue/schema/compile.ts'
import { ApiProblem, type FieldError } from '../../http/api-problem.ts'
import { eventTypeParameter, idSchema } from '../../http/ids.ts'
import { jsonBody } from '../../http/json-body.ts'
import { json, jsonRequest, problems } from '../../http/responses.ts'
import type { CatalogueDeps } from './catalogue-deps.ts'
import { jsonSchema } from './event-type.ts'

const maxEvents = 1_000
const maxFailures = 50
/** How long it may look for events, and check them. */
const deadlineMs = 5_000

const checkInput = z
  .strictObject({
    schema: jsonSchema,
    last: z.int().min(1).max(maxEvents).nullable().optional().openapi({ description: 'Events; 100 when left out.' }),
  })
  .openapi('SchemaCheck')

const failureSchema = z.object({
  event_id: idSchema('evt'),
  tenant_id: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })),
})

const checkResult = z
  .object({
    checked: z.int().min(0).openapi({ description: 'Events of the type that were held against the schema.' }),
    failed: z.int().min(0),
    complete: z.boolean().openapi({
      description:
        'Whether these were as many as were asked for, or all there are. Else the time was up, or the type is rare: only the newest 100,000 events of all types are looked at.',
    }),
    failures: z.array(failureSchema).openapi({ description: `The newest ${maxFailures} that fail.` }),
  })
  .openapi('SchemaCheckResult')

export const eventTypeCheck = createRoute({
  method: 'post',
  path: '/v1/event-types/{name}/check',
  operationId: 'checkEventType',
  tags: ['Event types'],
  summary: 'What would break under another schema',
  description:
    'Holds the last events of the type, of all tenants, against a schema. Changes nothing. The type need not be in the catalogue.',
  middleware: [jsonBody],
  request: { params: z.object({ name: eventTypeParameter }), body: jsonRequest(checkInput) },
  responses: { 200: json(checkResult, 'What was found'), ...problems },
})

export function registerEventTypeCheck(app: App, { pool, compiler }: CatalogueDeps): void {
  app.openapi(eventTypeCheck, async (c) => {
    const { schema, last } = c.req.valid('json')
    const compiled = compiler.compile(schema)
    if (Array.isArray(compiled)) {
      const errors = compiled.map(({ path, message }) => ({ path: `/schema${path}`, message }))
      throw new ApiProblem('invalid_request', `${errors[0]!.path}: ${errors[0]!.message}`, { errors })
    }
    return c.json(await checkLast(pool, c.req.valid('param').name, compiled, last ?? 100), 200)
  })
}

async function checkLast(
  pool: Pool,
  name: string,
  schema: CompiledSchema,
  last: number,
): Promise<z.infer<typeof checkResult>> {
  const endsAt = performance.now() + deadlineMs
  const result: z.infer<typeof checkResult> = { checked: 0, failed: 0, complete: false, failures: [] }
  const walk = walkEventsOfType(pool, name)
  for (;;) {
    const { value, done } = await walk.next()
    if (done) return { ...result, complete: value.all }
    for (const { id, tenantId, payload } of value) {
      const errors: FieldError[] = schema.check(JSON.parse(payload.toString('utf8')), payload.length, '/payload')
      result.checked++
      if (errors.length > 0) {
        result.failed++
        const failure = { event_id: encodeId('evt', id), tenant_id: tenantId, errors: errors.slice(0, 5) }
        if (result.failures.length < maxFailures) result.failures.push(failure)
      }
      if (result.checked === last) return { ...result, complete: true }
      if (performance.now() > endsAt) return result
      await setImmediate()
    }
    if (performance.now() > endsAt) return result
  }
}
