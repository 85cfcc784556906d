import { Parser } from '@asyncapi/parser'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())
beforeEach(() => api.pool.query('delete from posthorn.event_type'))

// biome-ignore lint/suspicious/noExplicitAny: documents of others
type Document = any

const types: Record<string, object> = {
  'invoice.paid': {
    description: 'An invoice has been paid.\n\n**In full**, that is.',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Invoice',
      type: 'object',
      required: ['id', 'total'],
      properties: {
        zeta: { type: 'string' },
        id: { type: 'integer' },
        total: { $ref: '#/$defs/money' },
        parts: { type: 'array', items: { $ref: '#' }, uniqueItems: true },
        pair: { prefixItems: [{ type: 'string' }, { $ref: '#/$defs/a~1b%20c' }], items: false },
      },
      unevaluatedProperties: false,
      dependentRequired: { parts: ['id'] },
      $defs: {
        money: { type: ['object', 'null'], properties: { amount: { type: 'number' }, per: { $ref: '#/$defs/money' } } },
        'a/b c': { const: null, 'x-of': 'ours' },
      },
    },
    examples: [
      { id: 1, total: null, zeta: 'a' },
      { id: 2, total: { amount: 99.5 } },
    ],
    archived: false,
  },
  'invoice.void': { description: '', schema: null, examples: [{ id: 1 }, 7, null], archived: true },
  'a_b-c.D': { description: '', schema: {}, examples: [], archived: false },
  webhook: {
    description: 'A type that is called as parts of documents are.',
    schema: { type: 'object' },
    examples: [],
    archived: false,
  },
}

async function putAll(): Promise<void> {
  for (const [name, json] of Object.entries(types)) {
    expect(await api.call('PUT', `/v1/event-types/${name}`, { json })).toMatchObject({ status: 201 })
  }
}

async function stored(): Promise<Record<string, unknown>> {
  const { body } = await api.call('GET', '/v1/event-types')
  const rows: Document[] = body.data
  return Object.fromEntries(rows.map(({ name, created_at, updated_at, ...values }) => [name, values]))
}

const exportOf = (format: string, query = '') => api.call<Document>('GET', `/v1/catalogue/${format}${query}`)
const importOf = (json: unknown, query = '') => api.call<Document>('POST', `/v1/catalogue/import${query}`, { json })
const outcomes = (body: Document) => Object.fromEntries(body.data.map((each: Document) => [each.name, each.outcome]))

/** Whoever reads a document needs nothing besides it. */
function expectSelfContained(document: Document): void {
  for (const [, reference = ''] of JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)) {
    expect(reference).toMatch(/^#\//)
  }
}

describe('what is exported', () => {
  test('as OpenAPI is what a parser of OpenAPI 3.1 takes, with a webhook for each type', async () => {
    await putAll()
    const { body } = await exportOf('openapi', '?title=Acme%20webhooks&version=2.0')
    const validator = new Validator()
    expect(await validator.validate(structuredClone(body))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expectSelfContained(body)
    expect(body.info).toEqual({ title: 'Acme webhooks', version: '2.0' })
    expect(Object.keys(body.webhooks)).toEqual(['a_b-c.D', 'invoice.paid', 'webhook'])
    const { post } = body.webhooks['invoice.paid']
    expect(post.description).toContain('**In full**')
    expect(post.requestBody.content['application/json']).toEqual({
      schema: { $ref: '#/components/schemas/invoice.paid' },
      examples: { example1: { value: expect.anything() }, example2: { value: expect.anything() } },
    })
    expect(body.components.schemas['invoice.paid'].properties.total).toEqual({
      $ref: '#/components/schemas/invoice.paid/$defs/money',
    })
  })

  test('as AsyncAPI is what its own parser takes, with a message for each type', async () => {
    await putAll()
    const { body } = await exportOf('asyncapi', '?archived=true')
    const { document, diagnostics } = await new Parser().parse(JSON.stringify(body))
    expectSelfContained(body)
    // There is 3.1 by now, and what 3.0 reads, 3.1 reads too.
    expect(diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version')).toEqual([])
    const messages = document!.operations().get('deliver')!.messages().all()
    expect(messages.map((message) => message.name()).sort()).toEqual(Object.keys(types).sort())
    const message = messages.find((each) => each.name() === 'invoice.paid')!
    expect(message.examples().all()[1]!.payload()).toMatchObject({ id: 2 })
    expect(Object.keys(message.headers()!.properties()!)).toContain('webhook-signature')
    expect(message.payload()!.properties()!['id']!.type()).toBe('integer')
    expect(message.payload()!.properties()!['total']!.properties()!['amount']!.type()).toBe('number')
  })

  test('has archived types only where they are asked for', async () => {
    await putAll()
    const { body } = await exportOf('openapi', '?archived=true')
    expect(body.webhooks['invoice.void'].post.deprecated).toBe(true)
    expect(await new Validator().validate(structuredClone(body))).toEqual({ valid: true })
    const { body: current } = await exportOf('asyncapi')
    expect(current.components.messages).not.toHaveProperty(['invoice.void'])
  })

  test('of an empty catalogue is a document too', async () => {
    expect(await new Validator().validate((await exportOf('openapi')).body)).toEqual({ valid: true })
    const { document } = await new Parser().parse(JSON.stringify((await exportOf('asyncapi')).body))
    expect(document!.operations().all()).toHaveLength(1)
  })
})

describe.each(['openapi', 'asyncapi'])('%s', (format) => {
  test('what was exported and is imported again changes nothing, and into an empty catalogue it makes the same', async () => {
    await putAll()
    const before = await stored()
    expect(before).toMatchObject(types)
    const { body: document, text } = await exportOf(format, '?archived=true')
    const again = await importOf(document)
    expect(again).toMatchObject({ status: 200, body: { format, dry_run: false } })
    expect(new Set(Object.values(outcomes(again.body)))).toEqual(new Set(['unchanged']))
    await api.pool.query('delete from posthorn.event_type')
    expect(new Set(Object.values(outcomes((await importOf(document)).body)))).toEqual(new Set(['created']))
    expect(await stored()).toEqual(before)
    expect((await exportOf(format, '?archived=true')).text).toBe(text)
  })

  test('a dry run tells the same and writes nothing; types that are not described stay', async () => {
    await putAll()
    const { body: document } = await exportOf(format, '?archived=true')
    await api.call('PUT', '/v1/event-types/invoice.paid', { json: { description: 'Another' } })
    await api.call('DELETE', '/v1/event-types/webhook')
    await api.call('PUT', '/v1/event-types/not.described', { json: {} })
    const before = await stored()
    const wanted = {
      'invoice.paid': 'changed',
      webhook: 'created',
      'invoice.void': 'unchanged',
      'a_b-c.D': 'unchanged',
    }
    const dry = await importOf(document, '?dry_run=true')
    expect(dry.body).toMatchObject({ dry_run: true })
    expect(outcomes(dry.body)).toEqual(wanted)
    expect(await stored()).toEqual(before)
    expect(outcomes((await importOf(document)).body)).toEqual(wanted)
    expect(await stored()).toMatchObject({ ...types, 'not.described': { schema: null } })
  })

  test('a member that is called $ref is no reference, and what looks like one in a value is none', async () => {
    const json = {
      description: '',
      schema: {
        properties: { $ref: { enum: ['#/a', { $ref: '#/b' }] }, $defs: { const: { $ref: '#' } } },
        default: { $ref: '#' },
        'x-mine': { $ref: 'https://example.com/' },
      },
      examples: [{ $ref: '#/a' }],
      archived: false,
    }
    expect((await api.call('PUT', '/v1/event-types/odd', { json })).status).toBe(201)
    const { body: document } = await exportOf(format)
    expect(outcomes((await importOf(document)).body)).toEqual({ odd: 'unchanged' })
    await api.call('DELETE', '/v1/event-types/odd')
    await importOf(document)
    expect(await stored()).toEqual({ odd: json })
  })

  test('what is imported holds for the next publish', async () => {
    await putAll()
    const { body: document } = await exportOf(format)
    await api.pool.query('delete from posthorn.event_type')
    const publish = () =>
      api.call('POST', '/v1/tenants/acme/events', { json: { type: 'invoice.paid', payload: { id: 'a' } } })
    await importOf(document)
    expect((await publish()).status).toBe(422)
  })
})

test("another's OpenAPI document: references into it come along, and each type that cannot be taken says why", async () => {
  const json = 'application/json'
  const body = (schema: unknown, more = {}) => ({ post: { requestBody: { content: { [json]: { schema, ...more } } } } })
  const document = {
    openapi: '3.1.1',
    info: { title: 'Shop', version: '1' },
    paths: {},
    webhooks: {
      'order.made': { $ref: '#/components/pathItems/made' },
      'order.sent': body({ $ref: '#/components/schemas/Order' }, { example: { id: 1, lines: [] } }),
      'order.lost': body({ $ref: 'https://example.com/order.json' }),
      'order.gone': body({ $ref: '#/components/schemas/Nothing' }),
      'order.get': { get: {} },
      'order.text': { post: { requestBody: { content: { 'text/plain': {} } } } },
      'order.wrong': body({ type: 'object', properties: { a: { nullable: true } } }),
      'order.example': body({ type: 'integer' }, { examples: { a: { value: 1 }, b: { value: 'x' } } }),
      'order made': body({}),
      'order.bare': body(undefined),
    },
    components: {
      pathItems: {
        made: {
          post: {
            summary: 'An order has been made.',
            requestBody: { $ref: '#/components/requestBodies/Order' },
          },
        },
      },
      requestBodies: {
        Order: {
          content: {
            'application/vnd.shop+json': {
              schema: {
                allOf: [{ $ref: '#/components/schemas/Order' }],
                required: ['id'],
                properties: { at: { $ref: '#/components/schemas/Order/properties/id' } },
              },
            },
          },
        },
      },
      schemas: {
        Order: {
          type: 'object',
          properties: {
            id: { type: 'integer' },
            lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
          },
        },
        Line: {
          type: 'object',
          properties: { of: { $ref: '#/components/schemas/Order' }, in: { $ref: '#/components/schemas/Line' } },
        },
      },
    },
  }
  const imported = await importOf(document)
  expect(imported.body.format).toBe('openapi')
  const refused = (path: string, message: RegExp) => [{ path, message: expect.stringMatching(message) }]
  const told = Object.fromEntries(imported.body.data.map((each: Document) => [each.name, each.errors]))
  expect(told).toEqual({
    'order.made': [],
    'order.sent': [],
    'order.lost': refused('/schema', /no schema|not in the document/),
    'order.gone': refused('/schema', /no schema/),
    'order.get': refused('', /POST/),
    'order.text': refused('', /application\/json/),
    'order.wrong': refused('/schema/properties/a/nullable', /null/),
    'order.example': refused('/examples/1', /whole number/),
    'order made': refused('', /no event type/),
    'order.bare': [],
  })
  expect(await stored()).toEqual({
    'order.made': {
      description: 'An order has been made.',
      archived: false,
      examples: [],
      schema: {
        allOf: [{ $ref: '#/$defs/Order' }],
        required: ['id'],
        properties: { at: { $ref: '#/$defs/Order/properties/id' } },
        $defs: {
          Order: {
            type: 'object',
            properties: { id: { type: 'integer' }, lines: { type: 'array', items: { $ref: '#/$defs/Line' } } },
          },
          Line: { type: 'object', properties: { of: { $ref: '#/$defs/Order' }, in: { $ref: '#/$defs/Line' } } },
        },
      },
    },
    'order.sent': {
      description: '',
      archived: false,
      examples: [{ id: 1, lines: [] }],
      schema: {
        type: 'object',
        properties: { id: { type: 'integer' }, lines: { type: 'array', items: { $ref: '#/$defs/Line' } } },
        $defs: { Line: { type: 'object', properties: { of: { $ref: '#' }, in: { $ref: '#/$defs/Line' } } } },
      },
    },
    'order.bare': { description: '', archived: false, examples: [], schema: null },
  })
  const again = outcomes((await importOf(document)).body)
  for (const name of ['order.made', 'order.sent', 'order.bare']) expect(again[name]).toBe('unchanged')
})

test("another's AsyncAPI document: what it sends are the types, or, without operations, all of its messages", async () => {
  const document = {
    asyncapi: '3.0.0',
    info: { title: 'Shop', version: '1' },
    channels: {
      orders: {
        messages: {
          made: {
            name: 'order.made',
            summary: 'Made',
            payload: { type: 'object', properties: { line: { $ref: '#/components/schemas/Line' } } },
          },
          sent: { $ref: '#/components/messages/order.sent' },
          asked: { name: 'order.asked', payload: { type: 'object' } },
        },
      },
    },
    operations: {
      publish: {
        action: 'send',
        channel: { $ref: '#/channels/orders' },
        messages: [{ $ref: '#/channels/orders/messages/made' }, { $ref: '#/channels/orders/messages/sent' }],
      },
      listen: { action: 'receive', channel: { $ref: '#/channels/orders' } },
    },
    components: {
      schemas: { Line: { type: 'string' } },
      messages: {
        'order.sent': {
          payload: { schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: { type: 'record' } },
        },
      },
    },
  }
  const imported = await importOf(document)
  expect(outcomes(imported.body)).toEqual({ 'order.made': 'created', 'order.sent': 'refused' })
  expect(await stored()).toMatchObject({
    'order.made': {
      description: 'Made',
      schema: { type: 'object', properties: { line: { $ref: '#/$defs/Line' } }, $defs: { Line: { type: 'string' } } },
    },
  })
  const { operations, ...without } = document
  expect(outcomes((await importOf(without, '?dry_run=true')).body)).toEqual({
    'order.made': 'unchanged',
    'order.sent': 'refused',
    'order.asked': 'created',
  })
})

test.each<[string, unknown, string]>([
  ['that is neither', {}, ''],
  ['of AsyncAPI 2', { asyncapi: '2.6.0', channels: {} }, '/asyncapi'],
  ['of OpenAPI 3.0', { openapi: '3.0.3', webhooks: {} }, '/openapi'],
  ['without webhooks', { openapi: '3.1.0', paths: {} }, '/webhooks'],
  ['without channels', { asyncapi: '3.0.0' }, '/channels'],
  ['that is a list', [], ''],
])('a document %s is refused', async (_, json, path) => {
  expect(await importOf(json)).toMatchObject({ status: 422, body: { errors: [{ path }] } })
})

test('a document that refers in circles, or to far too much, is refused and ends', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 700 }, (_, n) => [
      `s${n}`,
      { properties: { next: { $ref: `#/components/schemas/s${n + 1}` } } },
    ]),
  )
  const body = (schema: unknown) => ({ post: { requestBody: { content: { 'application/json': { schema } } } } })
  const { body: told } = await importOf({
    openapi: '3.1.0',
    info: { title: 'a', version: '1' },
    webhooks: {
      circle: body({ $ref: '#/components/schemas/a' }),
      far: body({ properties: { first: { $ref: '#/components/schemas/s0' } } }),
    },
    components: { schemas: { a: { $ref: '#/components/schemas/b' }, b: { $ref: '#/components/schemas/a' }, ...many } },
  })
  expect(outcomes(told)).toEqual({ circle: 'refused', far: 'refused' })
  expect(await stored()).toEqual({})
})
