import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'

let cluster: Cluster
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver({ respond: () => ({ status: 500 }) })
  cluster = await startCluster()
})
afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

async function fail(type: string, retry_schedule: number[]) {
  const url = `${receiver.url}/${type}`
  const endpoint = await cluster.makeEndpoint('acme', { url, event_types: [type], retry_schedule })
  expect((await cluster.call('GET', `/tenants/acme/endpoints/${endpoint.id}`)).body.retry_schedule).toEqual(
    retry_schedule,
  )
  const event = await cluster.publish('acme', type, '1')
  const delivery = await eventually(async () => {
    const { body } = await cluster.delivery('acme', event, endpoint.id)
    return body.state === 'failed' ? body : null
  }, 10_000)
  return { delivery, attempts: await cluster.attempts('acme', event, endpoint.id) }
}

test('an empty schedule is a single attempt', async () => {
  const { delivery, attempts } = await fail('single', [])
  expect(delivery).toMatchObject({ attempts: 1, reason: 'exhausted' })
  expect(attempts).toHaveLength(1)
})

test('a zero in it is an attempt at once', async () => {
  const { delivery, attempts } = await fail('at-once', [0, 0])
  expect(delivery).toMatchObject({ attempts: 3, reason: 'exhausted' })
  const times = attempts.map((attempt) => Date.parse(attempt.started_at))
  expect(times[2]! - times[0]!).toBeLessThan(3_000)
})
