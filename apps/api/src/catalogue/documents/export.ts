import type { JsonObject } from '../schema/outline.ts'
import type { TypeValues } from '../type-values.ts'
import { webhookHeaders } from './headers.ts'
import { encodeStep, mapReferences } from './references.ts'

export type NamedType = TypeValues & { name: string }
export type DocumentInfo = { title: string; version: string }

export const schemaFormat = 'application/schema+json;version=draft-2020-12'
export const archivedMember = 'x-archived'

/** The catalogue as the `webhooks` of an OpenAPI 3.1 document. */
export function toOpenapi(types: readonly NamedType[], info: DocumentInfo): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version },
    webhooks: Object.fromEntries(types.map((type) => [type.name, { post: operationOf(type) }])),
    components: {
      schemas: schemasOf(types),
      parameters: Object.fromEntries(
        Object.entries(webhookHeaders).map(([name, description]) => [
          name,
          { name, in: 'header', required: true, description, schema: { type: 'string' } },
        ]),
      ),
    },
  }
}

function operationOf({ name, description, schema, examples, archived }: NamedType): JsonObject {
  const content = {
    ...(schema === null ? {} : { schema: { $ref: componentOf(name) } }),
    ...(examples.length === 0
      ? {}
      : { examples: Object.fromEntries(examples.map((value, n) => [`example${n + 1}`, { value }])) }),
  }
  return {
    ...(description === '' ? {} : { description }),
    ...(archived ? { deprecated: true } : {}),
    parameters: Object.keys(webhookHeaders).map((header) => ({ $ref: `#/components/parameters/${header}` })),
    requestBody: { required: true, content: { 'application/json': content } },
    responses: { '2XX': { description: 'Received. Any other answer is a failed attempt.' } },
  }
}

/** The catalogue as an AsyncAPI 3 document: one channel, the endpoint of a customer, with a message for each type. */
export function toAsyncapi(types: readonly NamedType[], info: DocumentInfo): JsonObject {
  const references = (place: string): JsonObject =>
    Object.fromEntries(types.map(({ name }) => [name, { $ref: `${place}/${encodeStep(name)}` }]))
  return {
    asyncapi: '3.0.0',
    info: { title: info.title, version: info.version },
    defaultContentType: 'application/json',
    channels: {
      endpoint: {
        address: null,
        description: 'The URL that a customer has registered.',
        messages: references('#/components/messages'),
      },
    },
    operations: {
      deliver: {
        action: 'send',
        channel: { $ref: '#/channels/endpoint' },
        messages: Object.values(references('#/channels/endpoint/messages')),
      },
    },
    components: {
      schemas: schemasOf(types),
      messageTraits: { webhook: { contentType: 'application/json', headers: headersSchema } },
      messages: Object.fromEntries(types.map((type) => [type.name, messageOf(type)])),
    },
  }
}

const headersSchema = {
  type: 'object',
  required: Object.keys(webhookHeaders),
  properties: Object.fromEntries(
    Object.entries(webhookHeaders).map(([name, description]) => [name, { type: 'string', description }]),
  ),
}

function messageOf({ name, description, schema, examples, archived }: NamedType): JsonObject {
  return {
    name,
    title: name,
    ...(description === '' ? {} : { description }),
    ...(archived ? { [archivedMember]: true } : {}),
    traits: [{ $ref: '#/components/messageTraits/webhook' }],
    ...(schema === null ? {} : { payload: { schemaFormat, schema: { $ref: componentOf(name) } } }),
    ...(examples.length === 0
      ? {}
      : { examples: examples.map((payload, n) => ({ name: `example${n + 1}`, payload })) }),
  }
}

function componentOf(name: string): string {
  return `#/components/schemas/${encodeStep(name)}`
}

/** In a document a reference counts from the document's top, and no longer from the schema's. */
function schemasOf(types: readonly NamedType[]): JsonObject {
  return Object.fromEntries(
    types.flatMap(({ name, schema }) =>
      schema === null
        ? []
        : [[name, mapReferences(schema, (reference) => componentOf(name) + reference.slice(1))] as const],
    ),
  )
}
