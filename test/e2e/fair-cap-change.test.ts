import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { owe, type Registered, registerAll } from './fair-traffic.ts'

const path = '/capped'

let cluster: Cluster
let receiver: Receiver
let capped: Registered

beforeAll(async () => {
  receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 30 }), keepBodies: false })
  cluster = await startCluster({ dispatchers: 4 })
  capped = (await registerAll(cluster, [{ tenant: 'capped', url: `${receiver.url}${path}`, max_in_flight: 20 }]))[0]!
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

test('a cap that is changed under traffic holds from the answer on, whatever was in flight then', async () => {
  await owe(cluster.pool, [capped], 20_000)
  const reached = (cap: number, from: number) =>
    receiver.waitUntil(() => receiver.requests.slice(from).some((each) => each.inFlightAtArrival === cap), 10_000)
  await reached(20, 0)
  await sleep(1_000)
  expect(receiver.maxInFlight(path)).toBe(20)

  const toThree = await change(3)
  await sleep(2_000)
  const toTen = await change(10)
  await reached(10, toTen)
  await sleep(2_000)
  const all = receiver.requests.slice()
  const atThree = all.slice(toThree, toTen)
  const atTen = all.slice(toTen)
  console.info(`arrived at 20: ${toThree}, at 3: ${atThree.length}, at 10: ${atTen.length}`)

  // What had been leased before may still arrive; never again once that has ended.
  expect(over(atThree, 3).length).toBeLessThanOrEqual(20)
  expect(over(afterFall(atThree, 3), 3)).toEqual([])
  expect(Math.max(...afterFall(atThree, 3).map((each) => each.inFlightAtArrival))).toBe(3)
  expect(Math.max(...atTen.map((each) => each.inFlightAtArrival))).toBe(10)
  expect(atThree.length).toBeGreaterThan(30)
  expect(duplicates(all)).toBe(0)
})

/** @returns how many requests had come when the change was answered */
async function change(cap: number): Promise<number> {
  const answer = await cluster.patchEndpoint(capped.tenant, capped.id, { max_in_flight: cap })
  expect(answer.status).toBe(200)
  return receiver.requests.length
}

const over = (requests: readonly Received[], cap: number): Received[] =>
  requests.filter((each) => each.inFlightAtArrival > cap)

/** From the first that arrived within the cap, after the last of those that the change found leased. */
function afterFall(requests: readonly Received[], cap: number): Received[] {
  return requests.slice(requests.findIndex((each) => each.inFlightAtArrival <= cap))
}
