import type { FieldError } from '../../http/api-problem.ts'
import type { JsonObject } from '../schema/outline.ts'
import type { Described } from './import.ts'
import { encodeStep, follow, isObject } from './references.ts'

/** A media type that is JSON. */
const jsonType = /^application\/(?:[a-z0-9.+-]+\+)?json(?:;|$)/i

/** The types of an OpenAPI 3.1 document: its webhooks, each by its POST. */
export function readOpenapi(document: JsonObject): Described[] | FieldError {
  const { openapi, webhooks } = document
  if (openapi === undefined) return { path: '', message: 'Is neither an AsyncAPI 3 nor an OpenAPI 3.1 document.' }
  if (typeof openapi !== 'string' || !/^3\.[12]\./.test(openapi)) return { path: '/openapi', message: 'Must be 3.1.x.' }
  if (!isObject(webhooks)) return { path: '/webhooks', message: 'Required.' }
  return Object.entries(webhooks).map(([name, item]) => {
    const path = follow(document, item, `#/webhooks/${encodeStep(name)}`)
    const operation = isObject(path.value) ? path.value['post'] : undefined
    if (!isObject(operation)) return refused(name, 'Has no POST.')
    const body = follow(document, operation['requestBody'], `${path.at}/post/requestBody`)
    const content = isObject(body.value) ? body.value['content'] : undefined
    const type = isObject(content) ? Object.keys(content).find((each) => jsonType.test(each)) : undefined
    const media = type === undefined ? undefined : (content as JsonObject)[type]
    if (type === undefined || !isObject(media)) return refused(name, 'Has no body of application/json.')
    const at = `${body.at}/content/${encodeStep(type)}/schema`
    return {
      name,
      description: operation['description'] ?? operation['summary'],
      archived: operation['deprecated'] === true,
      examples: examplesOf(document, media),
      schema: media['schema'] === undefined ? null : { value: media['schema'], at },
    }
  })
}

function examplesOf(document: JsonObject, media: JsonObject): unknown[] {
  if ('example' in media) return [media['example']]
  const { examples } = media
  if (!isObject(examples)) return []
  return Object.values(examples).flatMap((each) => {
    const { value } = follow(document, each, '')
    return isObject(value) && 'value' in value ? [value['value']] : []
  })
}

function refused(name: string, refusal: string): Described {
  return { name, description: '', archived: false, examples: [], schema: null, refusal }
}
