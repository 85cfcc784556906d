import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { byPath, duplicates, webhookId } from '../support/webhooks.ts'

const tenant = 'stop'
const env = { POSTHORN_RETRY_SCHEDULE: '1s,1s,1s' }
const endpointCount = 10

let cluster: Cluster
let receiver: Receiver
/** What requests wait for beside their 60 ms. */
let gate: Promise<void>

beforeEach(async () => {
  gate = Promise.resolve()
  receiver = await startReceiver({
    respond: async () => {
      await sleep(60)
      await gate
      return { status: 200 }
    },
  })
})

afterEach(async () => {
  await cluster?.stop()
  await receiver?.close()
})

async function makeEndpoints(): Promise<void> {
  for (let n = 0; n < endpointCount; n++) await cluster.makeEndpoint(tenant, { url: `${receiver.url}/${n}` })
}

function publishMany(count: number): Promise<string[]> {
  return cluster.publishAll(
    tenant,
    Array.from({ length: count }, (_, n) => ({ type: 'load', payload: String(n) })),
  )
}

/** Each event came to each endpoint, once, by an attempt that is number 1 and logged, and by no other. */
async function expectEachOnce(ids: readonly string[]): Promise<void> {
  const paths = byPath(receiver.requests)
  for (let n = 0; n < endpointCount; n++)
    expect(new Set((paths.get(`/${n}`) ?? []).map(webhookId))).toEqual(new Set(ids))
  expect(duplicates(receiver.requests)).toBe(0)
  const { rows } = await cluster.pool.query(
    'select outcome, state, number, count(*)::int as n from posthorn.attempt group by outcome, state, number',
  )
  // A lease given back unsent is not counted: its delivery's first attempt is still number 1.
  expect(rows).toEqual([{ outcome: 1, state: 4, number: 1, n: ids.length * endpointCount }])
}

test('SIGTERM under load: what is in flight ends, what was not sent is given back, nothing comes twice', async () => {
  cluster = await startCluster({ dispatchers: 2, env })
  await makeEndpoints()
  const ids = await publishMany(400)
  for (const [turn, dispatcher] of cluster.dispatchers.entries()) {
    await receiver.waitFor((turn + 1) * 300, 20_000)
    // From here until it has said that it stops no request ends, so it is stopped with some in flight.
    const { promise, resolve: open } = Promise.withResolvers<void>()
    gate = promise
    if (turn > 0) await cluster.startDispatcher()
    await eventually(async () => (await cluster.leasedTo(dispatcher)).length >= 20, 10_000)
    dispatcher.signal('SIGTERM')
    await dispatcher.waitForLine(/"dispatcher stopping"/, 5_000)
    open()
    const stoppedAt = Date.now()
    expect(await dispatcher.exited).toEqual({ code: 0, signal: null })
    // Attempts take 60 ms: it does not sit out its limit of 25 s.
    expect(Date.now() - stoppedAt).toBeLessThan(5_000)
    const stopping = dispatcher
      .output()
      .split('\n')
      .find((line) => line.includes('"dispatcher stopping"'))
    expect(JSON.parse(stopping ?? '{}').inFlight).toBeGreaterThan(0)
    const { rows } = await cluster.pool.query(
      'select 1 from posthorn.delivery d where d.state = 1 and d.dispatcher_id not in (select id from posthorn.dispatcher)',
    )
    expect(rows).toEqual([])
    if (turn === 1) break
  }
  await cluster.drained(20_000)
  await expectEachOnce(ids)
})

test('a second SIGTERM ends it at once', async () => {
  cluster = await startCluster({ env })
  receiver.respond = () => 'hang'
  await makeEndpoints()
  await publishMany(1)
  await receiver.waitFor(endpointCount, 10_000)
  const [dispatcher] = cluster.dispatchers
  dispatcher!.signal('SIGTERM')
  await dispatcher!.waitForLine(/"dispatcher stopping"/, 5_000)
  const { pid } = dispatcher!
  // It waits for what hangs.
  await sleep(500)
  expect(() => process.kill(pid, 0)).not.toThrow()
  dispatcher!.signal('SIGTERM')
  const againAt = Date.now()
  const exit = await dispatcher!.exited
  expect(exit.code ?? exit.signal).toBe(143)
  expect(Date.now() - againAt).toBeLessThan(2_000)
})

test('four dispatchers restarted one after the other under load: nothing comes twice', async () => {
  cluster = await startCluster({ dispatchers: 4, env })
  await makeEndpoints()
  const ids: string[] = []
  let restarting = true
  const publishing = (async () => {
    while (restarting) {
      ids.push(...(await publishMany(10)))
      await sleep(200)
    }
  })()
  try {
    for (const old of cluster.dispatchers.slice()) {
      const before = receiver.requests.length
      await cluster.startDispatcher()
      old.signal('SIGTERM')
      expect(await old.exited).toEqual({ code: 0, signal: null })
      await receiver.waitFor(before + 100, 10_000)
    }
  } finally {
    restarting = false
    await publishing
  }
  await receiver.waitFor(ids.length * endpointCount, 30_000)
  await cluster.drained(5_000)
  await expectEachOnce(ids)
})

test('5,000 waiting, and three dispatchers started at once: nothing comes twice', async () => {
  cluster = await startCluster({ dispatchers: 0, env })
  receiver.respond = () => ({ status: 200 })
  await makeEndpoints()
  const ids = await publishMany(500)
  await Promise.all([1, 2, 3].map(() => cluster.startDispatcher()))
  await receiver.waitFor(5_000, 40_000)
  await cluster.drained(5_000)
  expect(receiver.requests).toHaveLength(5_000)
  await expectEachOnce(ids)
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select 1 from posthorn.dispatcher')
    return rows.length === 3
  }, 5_000)
})
