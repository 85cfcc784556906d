import { z } from '@hono/zod-openapi'
import { namesInWords, testsOf, unmetTests, wantedInWords } from '@posthorn/core'
import type { EndpointMatches, MatchAnswer } from '@posthorn/core/sql'
import { jsonPointer } from '../../http/json-pointer.ts'

/** Why an event is not owed to an endpoint. */
export const reasonSchema = z
  .object({
    code: z.enum(['status', 'event_type', 'channels', 'filter', 'payload', 'test_event']).openapi({
      description:
        '`payload`: it has a number that is too large for filters to look at. `test_event`: a test of another endpoint.',
    }),
    message: z.string(),
    at: z.string().nullable().openapi({
      description: 'What of the endpoint says no: a JSON pointer into it.',
      example: '/filter/and/1/gte',
    }),
    path: z.string().nullable().openapi({
      description: 'The place in the payload that was looked at: a JSON pointer into it.',
      example: '/data/total',
    }),
    found: z.string().nullable().openapi({
      description:
        'The JSON that is there, cut after 200 characters; `{...}` or `[...]` for an object or an array; null for nothing.',
      example: '99.5',
    }),
  })
  .openapi('MatchReason')

type Reason = z.infer<typeof reasonSchema>

/** All that speaks against it; nothing when it is owed. */
export function reasonsOf(endpointId: string, endpoint: EndpointMatches, answer: MatchAnswer): Reason[] {
  if (answer.onlyTo !== null) {
    return answer.onlyTo === endpointId ? [] : [reason('test_event', null, 'Is a test event for another endpoint.')]
  }
  const reasons: Reason[] = []
  if (!answer.statusTakes) reasons.push(reason('status', '/status', `The endpoint is ${endpoint.status}.`))
  if (!answer.typeTaken) {
    reasons.push(reason('event_type', '/event_types', `The endpoint takes ${namesInWords(endpoint.eventTypes)}.`))
  }
  if (!answer.channelsTaken) {
    const wanted = namesInWords(endpoint.channels)
    reasons.push(reason('channels', '/channels', `The event is in none of the endpoint's channels: ${wanted}.`))
  }
  if (!answer.filterMet) reasons.push(...filterReasons(endpoint, answer))
  return reasons
}

function filterReasons({ filter }: EndpointMatches, { readable, holds, found }: MatchAnswer): Reason[] {
  if (filter === null) throw new Error('a filter that is not there is not met')
  if (!readable) return [reason('payload', '/filter', 'The payload has a number that is too large to look at.')]
  const places = new Map(testsOf(filter).map(({ test }, place) => [test, place]))
  const unmet = unmetTests(filter, (test) => holds[places.get(test)!]!)
  if (unmet.length === 0) throw new Error('a filter is not met, and each of its tests is')
  return unmet.map((each) => {
    const path = jsonPointer(each.path)
    const there = found[places.get(each.test)!] ?? null
    const message = `${path || 'The payload'} ${wantedInWords(each)}, and ${there === null ? 'is not there' : `is ${there}`}.`
    return { code: 'filter', message, at: jsonPointer(['filter', ...each.test.at]), path, found: there }
  })
}

function reason(code: Reason['code'], at: string | null, message: string): Reason {
  return { code, message, at, path: null, found: null }
}
