import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { webhookId } from '../support/webhooks.ts'

const endpoints = 200
const eventsEach = 2
const size = 1024 * 1024
/** What it takes for small payloads, sent as fast as it can; all of these at once take twice that. */
const usualMiB = 350

let cluster: Cluster
let receiver: Receiver

beforeAll(async () => {
  // Slow, so that as many are under way as may be.
  receiver = await startReceiver({ keepBodies: false, respond: () => ({ status: 200, delayMs: 700 }) })
  cluster = await startCluster({ dispatchers: 0 })
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

function peakMiB(pid: number): number | null {
  if (process.platform !== 'linux') return null
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

test('a backlog of the largest payloads is delivered whole, and fits into the memory of a small machine', async () => {
  for (let n = 0; n < endpoints; n++)
    await cluster.makeEndpoint('large', { url: `${receiver.url}/${n}`, event_types: [`to.${n}`] })
  const hashes = new Map<string, string>()
  for (let n = 0; n < endpoints * eventsEach; n++) {
    const payload = `"${String(n).padEnd(size - 2, 'x')}"`
    const id = await cluster.publish('large', `to.${n % endpoints}`, payload)
    hashes.set(id, createHash('sha256').update(payload).digest('hex'))
  }
  const dispatcher = await cluster.startDispatcher({ POSTHORN_CONCURRENCY: '1000' })
  await cluster.drained(60_000)
  const peak = peakMiB(dispatcher.pid)
  console.info('peak memory of the dispatcher, MiB:', peak)
  expect(receiver.requests.length).toBe(hashes.size)
  for (const request of receiver.requests) expect(request.bodySha256).toBe(hashes.get(webhookId(request)))
  if (peak !== null) expect(peak).toBeLessThan(usualMiB)
  expect(dispatcher.output()).not.toMatch(/could not be read|given back/)
})
