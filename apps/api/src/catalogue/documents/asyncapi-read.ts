import type { FieldError } from '../../http/api-problem.ts'
import type { JsonObject } from '../schema/outline.ts'
import { archivedMember } from './export.ts'
import type { Described } from './import.ts'
import { encodeStep, follow, isObject, readSteps } from './references.ts'

/** What a payload may be written in: JSON Schema, and AsyncAPI's own, which is one. */
const takenFormat =
  /^application\/(?:schema\+(?:json|yaml);version=draft-(?:07|2019-09|2020-12)|vnd\.aai\.asyncapi(?:\+(?:json|yaml))?;version=3\.\d+\.\d+)$/

/** The types of an AsyncAPI 3 document: the messages that it sends, or, where it has no such operation, all of its channels. */
export function readAsyncapi(document: JsonObject): Described[] | FieldError {
  const { asyncapi, channels, operations } = document
  if (typeof asyncapi !== 'string' || !/^3\./.test(asyncapi)) return { path: '/asyncapi', message: 'Must be 3.x.' }
  if (!isObject(channels)) return { path: '/channels', message: 'Required.' }
  const sends = Object.values(isObject(operations) ? operations : {})
    .map((each) => follow(document, each, '').value)
    .filter((each) => isObject(each) && each['action'] === 'send') as JsonObject[]
  const messages =
    sends.length > 0
      ? sends.flatMap((operation) => sentBy(document, operation))
      : Object.entries(channels).flatMap(([name, channel]) =>
          messagesOf(document, channel, `#/channels/${encodeStep(name)}`),
        )
  const byPlace = new Map(messages.map((each) => [each.at, each]))
  return [...byPlace.values()].map(({ value, at }) => describe(document, value, at))
}

type Found = { value: unknown; at: string }

function sentBy(document: JsonObject, operation: JsonObject): Found[] {
  const { messages, channel } = operation
  if (Array.isArray(messages)) return messages.map((each) => follow(document, each, ''))
  return messagesOf(document, channel, '')
}

function messagesOf(document: JsonObject, channel: unknown, place: string): Found[] {
  const { value, at } = follow(document, channel, place)
  const messages = isObject(value) ? value['messages'] : undefined
  if (!isObject(messages)) return []
  return Object.entries(messages).map(([name, each]) => follow(document, each, `${at}/messages/${encodeStep(name)}`))
}

function describe(document: JsonObject, message: unknown, at: string): Described {
  const key = at.startsWith('#/') ? readSteps(at).at(-1)! : at
  if (!isObject(message)) return refused(key, 'There is no such message.')
  const name = typeof message['name'] === 'string' ? message['name'] : key
  const payload = readPayload(document, message['payload'], `${at}/payload`)
  if (typeof payload === 'string') return refused(name, payload)
  const examples = Array.isArray(message['examples']) ? message['examples'] : []
  return {
    name,
    description: message['description'] ?? message['summary'],
    archived: message[archivedMember] === true,
    examples: examples.flatMap((each) => (isObject(each) && 'payload' in each ? [each['payload']] : [])),
    schema: payload,
  }
}

/** @returns why it cannot be taken, where it cannot */
function readPayload(document: JsonObject, payload: unknown, at: string): Described['schema'] | string {
  if (payload === undefined) return null
  const followed = follow(document, payload, at)
  if (!isObject(followed.value) || !('schemaFormat' in followed.value)) return { value: payload, at }
  const { schemaFormat, schema } = followed.value
  if (typeof schemaFormat !== 'string' || !takenFormat.test(schemaFormat))
    return 'The format of its schema is not taken.'
  return { value: schema, at: `${followed.at}/schema` }
}

function refused(name: string, refusal: string): Described {
  return { name, description: '', archived: false, examples: [], schema: null, refusal }
}
