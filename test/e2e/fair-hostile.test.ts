import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { duplicates } from '../support/webhooks.ts'
import { type Latencies, type Registered, registerAll, registerHealthy, startTraffic } from './fair-traffic.ts'
import type { Opened, Shown } from './hostile/gallery.ts'

const timeoutMs = 2_000
const eventsEach = 1
/** What an attempt may take beyond its time-out, on a machine that is busy with all of this. */
const slackMs = 2_000

let gallery: Worker
let shown: Shown[]
let receiver: Receiver
let cluster: Cluster
let healthy: Registered[]

beforeAll(async () => {
  gallery = new Worker(new URL('./hostile/gallery.ts', import.meta.url))
  const [opened] = (await once(gallery, 'message')) as [Opened]
  shown = opened.shown
  // Which is also how an installation trusts authorities of its own.
  const authorities = join(tmpdir(), `posthorn-test-authorities-${process.pid}.pem`)
  writeFileSync(authorities, opened.authorities.join(''))
  receiver = await startReceiver({ keepBodies: false })
  cluster = await startCluster({ dispatchers: 1, env: { NODE_EXTRA_CA_CERTS: authorities } })
  healthy = await registerHealthy(cluster, receiver, 20)
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await gallery?.terminate()
})

/** MiB in memory now, and at most ever; null where there is no /proc. */
function memory(pid: number): { now: number; peak: number } | null {
  const path = `/proc/${pid}/status`
  if (!existsSync(path)) return null
  const status = readFileSync(path, 'utf8')
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024
  return { now: mib('VmRSS'), peak: mib('VmHWM') }
}

async function healthyFor(ms: number): Promise<Latencies> {
  const traffic = startTraffic(cluster, receiver, healthy, 50)
  await sleep(ms)
  return traffic.end(10_000)
}

type Row = { name: string; url: string; brief: string; message: string; duration: number; number: number }

const attempts = `
select e.url, a.number, a.duration_ms as duration, coalesce(a.error_message, '') as message,
  coalesce(a.error_code || ' in ' || a.error_phase, a.status || case when a.truncated then ' truncated' else '' end) as brief
from posthorn.attempt a join posthorn.endpoint e on e.id = a.endpoint_id
where e.tenant_id = 'hostile'`

test('a gallery of hostile receivers, all at once, costs the others nothing', async () => {
  expect(shown.length).toBeGreaterThan(80)
  const inputs = shown.map(({ url, name }) => ({
    tenant: 'hostile',
    url,
    description: name,
    event_types: ['hostile'],
    retry_schedule: [],
    timeout_ms: timeoutMs,
  }))
  await registerAll(cluster, inputs)
  // Warm: what a young process allocates is not theirs.
  await healthyFor(3_000)
  const alone = await healthyFor(4_000)
  const pid = cluster.dispatchers[0]!.pid
  const before = memory(pid)

  const events = Array.from({ length: eventsEach }, (_, n) => ({ type: 'hostile', payload: `{"n":${n}}` }))
  await cluster.publishAll('hostile', events)
  const beside = await healthyFor(4_000)
  await cluster.drained(20_000)
  const after = memory(pid)
  const again = await healthyFor(3_000)
  console.info('healthy alone, ms:', alone, again, 'beside the gallery:', beside, 'MiB:', before, after)

  const { rows } = await cluster.pool.query<Omit<Row, 'name'>>(attempts)
  const byUrl = Map.groupBy(rows, ({ url }) => url)
  for (const { name, url, expected } of shown) {
    const ended = byUrl.get(url) ?? []
    // One that answered nothing on a connection that had been used is tried again, once.
    expect([name, ended.length >= eventsEach]).toEqual([name, true])
    for (const { brief, duration } of ended) {
      expect(`${name}: ${brief}`).toMatch(new RegExp(`^${escaped(name)}: ${expected.source.slice(1)}`))
      expect([name, duration <= timeoutMs + slackMs]).toEqual([name, true])
    }
  }
  // One request a recorded attempt: no connection but those of attempts.
  gallery.postMessage('count')
  const [accepted] = (await once(gallery, 'message')) as [Record<string, number>]
  for (const { name, url } of shown) {
    expect([name, accepted[name]! <= (byUrl.get(url)?.length ?? 0)]).toEqual([name, true])
  }

  expect(duplicates(receiver.requests)).toBe(0)
  const quiet = Math.max(alone.p50, again.p50)
  // Not the slowest: for the first fifth of a second the gallery's own thread and the dispatcher, which uses two thirds of a
  // core then, fill the machine that all others run on as well. And a hundredth of a second is below what a busy machine can
  // tell apart.
  expect(beside.p50).toBeLessThanOrEqual(Math.max(quiet * 1.5, quiet + 10))
  expect(beside.count).toBeGreaterThanOrEqual(0.95 * alone.count)
  if (before && after) expect(after.peak - before.now).toBeLessThan(100)
  const output = cluster.dispatchers[0]!.output()
  expect(output).not.toMatch(/does not know|uncaught|could not be (logged|settled|made)/i)
})

test('what the strangers sent is shown safely', async () => {
  const { body } = await cluster.call('GET', '/tenants/hostile/deliveries?limit=200')
  for (const { event_id, endpoint_id } of body.data) {
    const [attempt] = await cluster.attempts('hostile', event_id, endpoint_id)
    expect(attempt).toBeDefined()
    const text = JSON.stringify(attempt)
    expect(text.isWellFormed()).toBe(true)
    expect(text.length).toBeLessThan(64 * 1_024)
    expect(text).not.toContain('\\u0000')
  }
})

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
