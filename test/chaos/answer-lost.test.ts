import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { within } from '../support/wait.ts'

const tenant = 'cut'

let cluster: Cluster
let proxy: CuttingProxy
let receiver: Receiver

beforeAll(async () => {
  receiver = await startReceiver()
  cluster = await startCluster({ dispatchers: 0 })
})

afterAll(async () => {
  await cluster?.stop()
  await proxy?.close()
  await receiver?.close()
})

const lost = [
  { what: 'a claim', statement: 'claim-lease-ready' },
  { what: 'a settle', statement: 'settle-leases' },
]

test.each(lost)('$what whose answer is lost costs no attempt, and nothing comes twice', async ({ what, statement }) => {
  const path = `/${statement}`
  const url = new URL(cluster.databaseUrl)
  proxy = await startCuttingProxy(Number(url.port))
  url.port = String(proxy.port)
  const dispatcher = await cluster.startDispatcher({ POSTHORN_DATABASE_URL: url.href })
  // A single attempt: what is counted though it was never made would be the end.
  const endpoint = await cluster.makeEndpoint(tenant, {
    url: receiver.url + path,
    event_types: [statement],
    retry_schedule: [],
  })
  proxy.cutAnswerTo(statement)
  const events = Array.from({ length: 5 }, (_, n) => ({ type: statement, payload: String(n) }))
  const ids = await cluster.publishAll(tenant, events)
  await within(proxy.cut, 10_000, () => `${what} was not cut off`)
  const cutAt = Date.now()
  await receiver.waitUntil(() => receiver.requests.filter((request) => request.path === path).length === 5, 10_000)
  await cluster.drained(10_000)
  expect(Date.now() - cutAt).toBeLessThan(5_000)
  expect(receiver.requests.filter((request) => request.path === path)).toHaveLength(5)
  for (const id of ids) {
    const attempts = await cluster.attempts(tenant, id, endpoint.id)
    expect(attempts.map((each) => [each.number, each.outcome, each.state])).toEqual([[1, 'succeeded', 'succeeded']])
  }
  dispatcher.signal('SIGTERM')
  expect(await dispatcher.exited).toEqual({ code: 0, signal: null })
  await proxy.close()
})
