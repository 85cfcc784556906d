import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { owe, type Registered, registerAll } from './fair-traffic.ts'

const limit = 10
const seconds = 10
/** One token, and what comes in a tenth of a second. */
const burst = 2

let cluster: Cluster
let receiver: Receiver
let limited: Registered

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  cluster = await startCluster({ dispatchers: 4 })
  limited = (
    await registerAll(cluster, [
      { tenant: 'limited', url: `${receiver.url}/limited`, rate_limit: { limit, per_seconds: 1 } },
    ])
  )[0]!
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

test('10 a second stays 10 a second over 4 dispatchers, with 5,000 waiting', async () => {
  await owe(cluster.pool, [limited], 5_000)
  const count = limit * seconds
  const arrived = await receiver.waitFor(count, seconds * 1_500)
  const firstAt = arrived[0]!.at
  const elapsed = (arrived[count - 1]!.at - firstAt) / 1_000
  console.info(`${count} in ${elapsed} s`)

  // Not slower than nine tenths of the limit.
  expect(elapsed).toBeLessThan(seconds / 0.9)
  // Not faster: over the whole time, and over any four seconds of it, for claims and arrivals are some time apart.
  expect(count).toBeLessThanOrEqual(elapsed * limit * 1.1 + burst)
  const times = arrived.map((request) => request.at).sort((a, b) => a - b)
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 4_000).length))
  expect(most).toBeLessThanOrEqual(4 * limit * 1.1 + burst)
  expect(duplicates(arrived)).toBe(0)
})
