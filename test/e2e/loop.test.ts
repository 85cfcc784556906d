import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

test('an endpoint that publishes to Posthorn itself makes no second event', async () => {
  const { port } = JSON.parse(await cluster.api.waitForLine(/"msg":"api listening"/, 1_000)) as { port: number }
  const key = await cluster.call('POST', '/api-keys', { json: { name: 'loop', kind: 'publish', tenant_id: 'loop' } })
  expect(key.status).toBe(201)
  const { id } = await cluster.makeEndpoint('loop', {
    url: `http://127.0.0.1:${port}/v1/tenants/loop/events`,
    headers: { authorization: `Bearer ${key.body.token}` },
    retry_schedule: [],
  })
  // What each event would publish: one of the same kind.
  const event = await cluster.publish('loop', 'again', '{"type":"again","payload":{}}')
  await cluster.drained(10_000)
  const attempts = await cluster.attempts('loop', event, id)
  expect(attempts).toMatchObject([{ outcome: 'failed', response: { status: 403 } }])
  expect(JSON.parse(attempts[0].response.body)).toMatchObject({ code: 'webhook_loop' })
  expect((await cluster.call('GET', '/tenants/loop/events')).body.data).toHaveLength(1)
})
