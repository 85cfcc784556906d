import { setImmediate } from 'node:timers/promises'
import type { Pool } from '@posthorn/core/db'
import { isIdempotencyKeyUsed, type PublishEvent, type PublishRequest } from '@posthorn/core/sql'
import { ApiProblem, type FieldError } from '../http/api-problem.ts'
import { checkStructure, hasDistinctKeys } from '../http/json-structure.ts'
import type { KnownType, LiveCatalogue } from './live-catalogue.ts'

const maxErrors = 50
/** A batch lets others have their turn after so long. */
const turnMs = 10

export type PublishCheck = (request: PublishRequest, prefixOf: (place: number) => string) => Promise<void> | undefined

export type PublishCheckOptions = {
  catalogue: Pick<LiveCatalogue, 'look' | 'read'>
  pool: Pool
  /** Whether only types of the catalogue may be published. */
  strict: boolean
}

/**
 * Holds what is published over HTTP against the catalogue. `prefixOf` gives an event's pointer: empty for a single one.
 *
 * A request whose idempotency key has been used is let pass: it writes nothing, and its answer is the first one's, whatever the
 * catalogue says by now.
 *
 * @throws ApiProblem 422 for a payload that its type's schema does not match, and, where it is strict, for an unknown type; 400
 * for a payload with a schema that has a key twice, for receivers differ in which of the two they read
 */
export function createPublishCheck({ catalogue, pool, strict }: PublishCheckOptions): PublishCheck {
  function checkOne({ payload }: PublishEvent, known: KnownType | undefined, prefix: string): FieldError[] {
    if (strict && (known === undefined || known.archived)) throw notTaken(`${prefix}/type`, known)
    if (!known?.schema) return []
    const text = textOf(payload)
    const value: unknown = JSON.parse(text)
    if (!hasDistinctKeys(text, value)) checkStructure(text, `${prefix}/payload`)
    return known.schema.check(value, payload.length, `${prefix}/payload`)
  }

  async function checkAll(events: readonly PublishEvent[], prefixOf: (place: number) => string): Promise<void> {
    const errors: FieldError[] = []
    let turnEndsAt = performance.now() + turnMs
    for (const [place, event] of events.entries()) {
      if (performance.now() > turnEndsAt) {
        await setImmediate()
        turnEndsAt = performance.now() + turnMs
      }
      let known = catalogue.look(event.type)
      while (known === null) {
        await catalogue.read(new Set(events.slice(place).map(({ type }) => type)))
        known = catalogue.look(event.type)
      }
      errors.push(...checkOne(event, known, prefixOf(place)))
      if (errors.length >= maxErrors) break
    }
    if (errors.length > 0) throw violation(errors.slice(0, maxErrors))
  }

  async function checkInTurns(
    { tenantId, idempotencyKey, events }: PublishRequest,
    prefixOf: (place: number) => string,
  ): Promise<void> {
    try {
      await checkAll(events, prefixOf)
    } catch (error) {
      const again = error instanceof ApiProblem && idempotencyKey !== null
      if (!again || !(await isIdempotencyKeyUsed(pool, tenantId, idempotencyKey))) throw error
    }
  }

  return (request, prefixOf) => {
    const { events, idempotencyKey } = request
    const [event] = events
    if (event === undefined || events.length > 1 || idempotencyKey !== null) return checkInTurns(request, prefixOf)
    // Most requests: nothing to wait for.
    const known = catalogue.look(event.type)
    if (known === null) return checkInTurns(request, prefixOf)
    const errors = checkOne(event, known, prefixOf(0))
    if (errors.length > 0) throw violation(errors)
    return undefined
  }
}

function notTaken(path: string, known: KnownType | undefined): ApiProblem {
  const message = known === undefined ? 'Is not in the catalogue.' : 'Is archived.'
  return new ApiProblem('unknown_event_type', `${path}: ${message}`, { errors: [{ path, message }] })
}

/** The payload is valid UTF-8 and JSON: the scan saw to it. */
function textOf(payload: Uint8Array): string {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8')
}

function violation(errors: readonly FieldError[]): ApiProblem {
  const first = errors[0]!
  return new ApiProblem('schema_violation', `${first.path}: ${first.message}`, { errors })
}
