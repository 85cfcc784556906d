import { generateSecret, verify } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { verifyWebhook } from '../support/webhooks.ts'

const waitMs = 30_000
const many = 100

let cluster: Cluster
let receiver: Receiver
/** Paths that fail until they are taken out. */
const failing = new Set<string>()
beforeAll(async () => {
  receiver = await startReceiver({ respond: ({ path }) => ({ status: failing.has(path) ? 500 : 200 }) })
  cluster = await startCluster({ dispatchers: 2 })
})
afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

const at = (path: string): Received[] => receiver.requests.filter((request) => request.path === path)
const items = (request: Received): string[] => String(request.headers['webhook-signature']).split(' ')

/** Many deliveries that have failed once, and will be tried again. */
async function failMany(path: string, input: object = {}) {
  failing.add(path)
  const url = `${receiver.url}${path}`
  const made = await cluster.makeEndpoint('acme', {
    url,
    max_in_flight: 100,
    retry_schedule: [1, 1, 1, 1, 600],
    ...input,
  })
  const events = Array.from({ length: many }, (_, i) => ({ type: 'a.b', payload: `{"i":${i}}` }))
  await cluster.publishAll('acme', events)
  // By ten failures in a row the lane is blocked, for seconds in which nothing is under way.
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ resting: boolean }>(
      `select l.blocked_until > clock_timestamp() + interval '2 seconds' and not exists (
         select from posthorn.delivery d where d.endpoint_id = l.endpoint_id and d.state = 1) as resting
       from posthorn.lane l where posthorn.type_id('ep', l.endpoint_id) = $1`,
      [made.id],
    )
    return rows[0]?.resting
  }, waitMs)
  return made
}

async function rotate(id: string, json: object) {
  const answer = await cluster.call('POST', `/tenants/acme/endpoints/${id}/secret/rotate`, { json })
  expect(answer.status).toBe(200)
  return answer.body.secrets as { secret: string; public_key: string | null; expires_at: string | null }[]
}

test('what waits for its retry is signed by the old and the new secret, so both receivers verify', async () => {
  const { id, secret: old } = await failMany('/grace')
  const before = at('/grace').length
  const fresh = generateSecret()
  await rotate(id, { secret: fresh, grace_seconds: 600 })
  failing.delete('/grace')
  await cluster.drained(waitMs)
  const [earlier, after] = [at('/grace').slice(0, before), at('/grace').slice(before)]
  expect(before).toBeGreaterThanOrEqual(10)
  expect(after.length).toBeGreaterThanOrEqual(many)
  for (const request of earlier) {
    expect(items(request)).toHaveLength(1)
    verifyWebhook(old, request)
  }
  for (const request of after) {
    // One space between, nothing at the ends, each item a v1: what every library reads.
    expect(request.headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/)
    verifyWebhook(old, request)
    verifyWebhook(fresh, request)
  }
})

test('without grace the old one signs nothing from the first attempt that begins after', async () => {
  const { id, secret: old } = await failMany('/none')
  const fresh = generateSecret()
  await rotate(id, { secret: fresh, grace_seconds: 0 })
  const before = at('/none').length
  failing.delete('/none')
  await cluster.drained(waitMs)
  const later = at('/none').slice(before)
  expect(later.length).toBeGreaterThanOrEqual(many)
  for (const request of later) {
    verifyWebhook(fresh, request)
    expect(() => verifyWebhook(old, request)).toThrow()
  }
})

test('an expired secret never signs, though nothing else of the endpoint changes', async () => {
  const path = '/expired'
  const { id, secret: old } = await cluster.makeEndpoint('acme', { url: `${receiver.url}${path}`, max_in_flight: 10 })
  const fresh = generateSecret()
  const [, ending] = await rotate(id, { secret: fresh, grace_seconds: 2 })
  const endMs = Date.parse(ending!.expires_at!)
  for (let i = 0; Date.now() < endMs + 1_500; i++) {
    const event = await cluster.publish('acme', 'a.b', `{"i":${i}}`)
    await receiver.waitFor((request) => request.path === path && request.headers['webhook-id'] === event, waitMs)
  }
  await cluster.drained(waitMs)
  const { rows } = await cluster.pool.query<{ startedAt: Date; signature: string }>(
    `select a.started_at as "startedAt", a.signature from posthorn.attempt a
     where posthorn.type_id('ep', a.endpoint_id) = $1 order by a.started_at`,
    [id],
  )
  const [during, after] = [
    rows.filter((row) => row.startedAt.getTime() < endMs),
    rows.filter((row) => row.startedAt.getTime() >= endMs),
  ]
  expect(during.length).toBeGreaterThan(0)
  expect(after.length).toBeGreaterThan(0)
  expect(during.every((row) => row.signature.split(' ').length === 2)).toBe(true)
  expect(after.every((row) => row.signature.split(' ').length === 1)).toBe(true)
  for (const request of at(path).filter((each) => items(each).length === 1)) {
    verifyWebhook(fresh, request)
    expect(() => verifyWebhook(old, request)).toThrow()
  }
})

test('an endpoint that asks for v1a gets it beside v1, rotates it, and the public keys verify', async () => {
  const {
    id,
    secret,
    public_key: first,
  } = (await failMany('/v1a', { signatures: ['v1', 'v1a'] })) as unknown as {
    id: string
    secret: string
    public_key: string
  }
  const rotated = await rotate(id, { signature: 'v1a', grace_seconds: 600 })
  const second = rotated.find((row) => row.public_key !== null && row.expires_at === null)!.public_key!
  failing.delete('/v1a')
  await cluster.drained(waitMs)
  const known = new Set<number>()
  for (const request of at('/v1a')) {
    verifyWebhook(secret, request)
    const versions = items(request).map((item) => item.split(',')[0])
    known.add(versions.length)
    expect(versions).toEqual(versions.length === 2 ? ['v1', 'v1a'] : ['v1', 'v1a', 'v1a'])
    const headers = request.headers as Record<string, string>
    expect(verify([first], headers, request.body).verified).toBe(true)
    expect(verify([second], headers, request.body).verified).toBe(versions.length === 3)
    expect(verify([first], headers, Buffer.concat([request.body, Buffer.from(' ')])).verified).toBe(false)
  }
  expect(known).toEqual(new Set([2, 3]))
})
