import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { createOrderWatch, placedOf } from '../support/order-watch.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'

/*
 * Order at a real receiver: four dispatchers, of which one is killed every other second, receivers that fail and hang, and
 * publishers over HTTP, in batches and alone, and in SQL.
 */
const tenant = 'ordered'
const keys = 200
const perKey = 20
const strictCount = 60

let cluster: Cluster
let receiver: Receiver
const watch = createOrderWatch()

beforeAll(async () => {
  const seen = new Map<string, number>()
  receiver = await startReceiver({
    respond: async (request) => {
      const over = watch.arrive(request)
      const { line, n } = placedOf(request)
      const place = `${request.path} ${line} ${n}`
      const turn = (seen.get(place) ?? 0) + 1
      seen.set(place, turn)
      try {
        await sleep(20 + ((n * 7) % 40))
        // Of some keys the third fails twice, of others the fifth hangs until it is given up.
        const number = Number(line.replace(/\D/g, ''))
        if (number % 5 === 0 && n === 2 && turn <= 2) return { status: 500 }
        if (number % 20 === 1 && n === 4 && turn === 1) return 'hang'
        return { status: 200 }
      } finally {
        over()
      }
    },
  })
  // A first delay of nothing: what fails is tried again at once, and must be waited for all the same.
  cluster = await startCluster({ dispatchers: 4, env: { POSTHORN_RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s' } })
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

async function batch(events: readonly { line: string; n: number }[], type: string): Promise<void> {
  const json = {
    events: events.map(({ line, n }) => ({ type, payload: { line, n }, ordering_key: line })),
  }
  const answer = await cluster.call('POST', `/tenants/${tenant}/events/batch`, { json })
  expect(answer.status).toBe(202)
}

/** Each publisher has keys of its own, and publishes a place only once the one before it is answered. */
async function publishKeyed(): Promise<void> {
  const linesOf = (of: number) => Array.from({ length: keys / 4 }, (_, k) => `key ${k * 4 + of}`)
  const overHttp = async (lines: string[]): Promise<void> => {
    // Two places of each key in one batch.
    for (let n = 0; n < perKey; n += 2) {
      await batch([...lines.map((line) => ({ line, n })), ...lines.map((line) => ({ line, n: n + 1 }))], 'keyed')
    }
  }
  const inSql = async (lines: string[]): Promise<void> => {
    for (let n = 0; n < perKey; n++) {
      const { rows } = await cluster.pool.query<{ count: number }>(
        `select count(*)::integer from (
           select posthorn.publish($1, 'keyed', json_build_object('line', line, 'n', $3::integer)::text, ordering_key => line)
           from unnest($2::text[]) line) x`,
        [tenant, lines, n],
      )
      expect(rows[0]!.count).toBe(lines.length)
    }
  }
  const alone = async (lines: string[]): Promise<void> => {
    for (let n = 0; n < perKey; n++) {
      await Promise.all(
        lines.map((line) => cluster.publish(tenant, 'keyed', JSON.stringify({ line, n }), { ordering_key: line })),
      )
    }
  }
  await Promise.all([overHttp(linesOf(0)), overHttp(linesOf(1)), inSql(linesOf(2)), alone(linesOf(3))])
}

async function publishStrict(): Promise<void> {
  for (let n = 0; n < strictCount; n++) await cluster.publish(tenant, 'strict', JSON.stringify({ line: 'all', n }))
}

test('order is exact at the receiver, over failures, time-outs and killed dispatchers', async () => {
  const url = (path: string): string => `${receiver.url}/${path}`
  const more = { timeout_ms: 2_000 }
  await cluster.makeEndpoint(tenant, {
    url: url('keyed'),
    event_types: ['keyed'],
    ordering: 'by_key',
    max_in_flight: 60,
    ...more,
  })
  await cluster.makeEndpoint(tenant, { url: url('strict'), event_types: ['strict'], ordering: 'strict', ...more })
  const startedAt = Date.now()
  const publishing = Promise.all([publishKeyed(), publishStrict()])
  let killed = 0
  for (let n = 0; n < 4; n++) {
    await sleep(1_500)
    const victim = cluster.dispatchers[n]!
    killed += (await cluster.leasedTo(victim)).length
    victim.signal('SIGKILL')
    await victim.exited
    await cluster.startDispatcher()
  }
  await publishing
  await cluster.drained(60_000)
  expect(watch.faults).toEqual([])
  expect(watch.reached()).toBe(keys * perKey + strictCount)
  console.log(
    `${watch.reached()} in order in ${Date.now() - startedAt} ms; ${killed} in flight at those killed, ${watch.repeats()} came again`,
  )
  // Without these, the test would show nothing.
  expect(killed).toBeGreaterThan(0)
  expect(watch.repeats()).toBeGreaterThan(keys / 5)
})
