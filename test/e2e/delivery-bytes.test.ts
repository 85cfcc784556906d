import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster, type TestEndpoint } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { verifyWebhook, webhookId } from '../support/webhooks.ts'

const tenant = 'bytes'
const limit = 1024 * 1024
const sized = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`

/** JSON texts that a parse and a stringify in the middle would change, or that break what is careless about text. */
const payloads: Record<string, string> = {
  'key order': '{"b":1,"a":{"d":1,"c":2}}',
  'escaped slashes and letters': '{"u":"https:\\/\\/e.test\\/a","h":"\\u0026\\u003c\\u00e9"}',
  'what HTML escapes': '{"=<>&\'":"=<>&\'","\u2028":"\u2029 \u2028"}',
  'many bytes a letter': '{"t":"😊 日本語 é e\\u0301 e\u0301 \\ud83d\\ude0a"}',
  'far fewer letters than bytes': `{"t":"${'日'.repeat(800)}"}`,
  'numbers past 2^53': `{"id":7615917337495251231,"neg":-1.7976931348623157e+308,"long":${'9'.repeat(309)}}`,
  'spelling of numbers': '{"a": 1.0, "b":1e2,"c":-0, "d":0.1000,  "e":1E400}',
  'what jsonb changes': '{"b":1,  "a":1.0, "a":1e2, "u":"https:\\/\\/x"}',
  'repeated keys': '{"type":"user.created","type":"user.deleted","data":{}}',
  'white space': '{\r\n  "a" : 1 ,\r\n\t"b" : [ ]\r\n}',
  'a byte-order mark within': '{"\ufeffa":"\ufeff"}',
  'lone surrogates, escaped': '{"a":"\\ud800","b":"\\udc00x","\\ud800":1}',
  'NUL, escaped': '{"a":"x\\u0000y","k\\u0000":1,"lit":"\\\\u0000"}',
  'nested 500 deep': `${'['.repeat(500)}${']'.repeat(500)}`,
  'a string': '"just text"',
  'a number': '-0.0e-0',
  'a literal': 'null',
  'nothing in it': '{ }',
  'one byte': '0',
  '7,999 bytes': sized(7_999),
  '8,000 bytes': sized(8_000),
  '8,001 bytes': sized(8_001),
  '255 KB': sized(255 * 1024),
  'the largest': sized(limit),
}
const names = Object.keys(payloads)
const ids = new Map<string, string>()

let cluster: Cluster
let receiver: Receiver
/** Each takes a third of the events: their first failures together would trip the breaker of one. */
let endpoints: TestEndpoint[]

const turnOf = (name: string): number => names.indexOf(name) % 3
const endpointOf = (name: string): TestEndpoint => endpoints[turnOf(name)]!

beforeAll(async () => {
  const seen = new Set<string>()
  receiver = await startReceiver({
    // Each event fails once, and then succeeds.
    respond: (request) => {
      const first = !seen.has(webhookId(request))
      seen.add(webhookId(request))
      return { status: first ? 500 : 200 }
    },
  })
  cluster = await startCluster()
  endpoints = await Promise.all(
    ['a', 'b', 'c'].map((part) =>
      cluster.makeEndpoint(tenant, {
        url: `${receiver.url}/hook?a=%20b`,
        event_types: [`bytes.${part}`],
        retry_schedule: [2],
        headers: { 'X-Own': 'Its Value' },
      }),
    ),
  )
  for (const name of names)
    ids.set(name, await cluster.publish(tenant, `bytes.${'abc'[turnOf(name)]}`, payloads[name]!))
  await receiver.waitFor(names.length * 2, 20_000)
  await cluster.drained(5_000)
  // In another second, so that the time signed must be another one.
  const latest = Math.max(...receiver.requests.map(timestampOf))
  await eventually(() => Date.now() / 1000 > latest + 1, 2_000)
  for (const [name, id] of ids) {
    const path = `/tenants/${tenant}/events/${id}/deliveries/${endpointOf(name).id}/redeliver`
    const answer = await cluster.call('POST', path)
    expect(answer.status).toBe(202)
  }
  await receiver.waitFor(names.length * 3, 20_000)
  await cluster.drained(5_000)
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

describe('attempt, retry and redelivery', () => {
  test.each(names)('carry the bytes that were published: %s', async (name) => {
    const payload = Buffer.from(payloads[name]!)
    const requests = requestsOf(name)
    expect(requests).toHaveLength(3)
    for (const request of requests) {
      expect(request.bodySha256).toBe(createHash('sha256').update(payload).digest('hex'))
      expect(request.headers['content-length']).toBe(String(payload.length))
      verifyWebhook(endpointOf(name).secret, request)
    }
    const id = ids.get(name)
    const read = await cluster.call('GET', `/tenants/${tenant}/events/${id}/payload`)
    expect(read.status).toBe(200)
    expect(read.bytes.equals(payload)).toBe(true)
    const event = await cluster.call('GET', `/tenants/${tenant}/events/${id}`)
    expect(event.bytes.includes(payload)).toBe(true)
  })

  test('sign anew each time, over one id and the time of the attempt', () => {
    for (const name of names) {
      const requests = requestsOf(name)
      const times = requests.map(timestampOf)
      expect(new Set(requests.map(webhookId))).toEqual(new Set([ids.get(name)]))
      expect(new Set(times).size).toBe(3)
      expect(new Set(requests.map((request) => request.headers['webhook-signature'])).size).toBe(3)
      for (const request of requests) {
        expect(request.headers['webhook-timestamp']).toMatch(/^[0-9]{10}$/)
        expect(Math.abs(request.at / 1000 - timestampOf(request))).toBeLessThan(3)
      }
    }
    expect(new Set(ids.values()).size).toBe(names.length)
  })

  test('have the same header names, in the same case, as has a test event', async () => {
    const before = receiver.requests.length
    const answer = await cluster.call('POST', `/tenants/${tenant}/endpoints/${endpoints[0]!.id}/test`, { json: {} })
    expect(answer.status).toBe(200)
    expect(receiver.requests).toHaveLength(before + 1)
    const wanted = [
      'connection',
      'content-length',
      'content-type',
      'host',
      'posthorn-event-type',
      'user-agent',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-own',
    ]
    for (const request of receiver.requests) {
      expect(request.rawHeaders.map(([name]) => name).sort()).toEqual(wanted)
      expect(request.method).toBe('POST')
      expect(request.path).toBe('/hook?a=%20b')
      expect(request.headers['content-type']).toBe('application/json')
      expect(request.headers['user-agent']).toMatch(/^Posthorn\/\d+\.\d+\.\d+/)
      expect(request.headers['x-own']).toBe('Its Value')
    }
    expect(receiver.requests.at(-1)?.headers['posthorn-event-type']).toBe('posthorn.test')
  })

  test('are logged with what was sent', async () => {
    const name = 'key order'
    const attempts = await cluster.attempts(tenant, ids.get(name)!, endpointOf(name).id)
    expect(attempts.map((each) => [each.number, each.outcome, each.state])).toEqual([
      [1, 'failed', 'scheduled'],
      [2, 'succeeded', 'succeeded'],
      [3, 'succeeded', 'succeeded'],
    ])
    for (const [at, request] of requestsOf(name).entries()) {
      const sent = attempts[at].request.headers
      for (const header of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'user-agent'])
        expect(sent[header]).toBe(request.headers[header])
      expect(sent['x-own']).not.toContain('Its Value')
    }
  })
})

test('two events of one batch have ids of their own, and one event has the same at each endpoint', async () => {
  const both = await startReceiver()
  for (const path of ['a', 'b']) await cluster.makeEndpoint('fan', { url: `${both.url}/${path}` })
  const made = await cluster.publishAll('fan', [
    { type: 'x', payload: '1' },
    { type: 'x', payload: '1' },
  ])
  await both.waitFor(4, 10_000)
  const seen = both.requests.map((request) => `${request.path} ${webhookId(request)}`).sort()
  expect(seen).toEqual(made.flatMap((id) => [`/a ${id}`, `/b ${id}`]).sort())
  await both.close()
})

test('what is refused is not delivered', async () => {
  const before = receiver.requests.length
  const post = (payload: string | Buffer): ReturnType<Cluster['call']> => {
    const raw = Buffer.concat([Buffer.from('{"type":"bytes.a","payload":'), Buffer.from(payload), Buffer.from('}')])
    return cluster.call('POST', `/tenants/${tenant}/events`, { raw })
  }
  expect((await post(sized(limit + 1))).status).toBe(413)
  expect((await post(`${'['.repeat(501)}${']'.repeat(501)}`)).status).toBe(400)
  expect((await post(Buffer.from([0x22, 0xff, 0x22]))).status).toBe(400)
  const marked = Buffer.from('\ufeff{"type":"x","payload":{}}')
  expect((await cluster.call('POST', `/tenants/${tenant}/events`, { raw: marked })).status).toBe(400)
  // A later one arrives, and nothing before it.
  const id = await cluster.publish(tenant, 'bytes.a', '"after"')
  await receiver.waitFor((request) => webhookId(request) === id, 10_000)
  expect(receiver.requests).toHaveLength(before + 1)
})

function requestsOf(name: string): Received[] {
  return receiver.requests.filter((request) => webhookId(request) === ids.get(name))
}

function timestampOf(request: Received): number {
  return Number(request.headers['webhook-timestamp'])
}
