import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '@posthorn/core'
import { beatDispatcher, claimDeliveries } from '@posthorn/core/sql'
import { expect, onTestFinished, test } from 'vitest'
import { createClaimMode } from '../../apps/dispatcher/src/claim-mode.ts'
import { createLaneBook } from '../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../apps/dispatcher/src/marks.ts'
import { createBell } from '../../apps/dispatcher/src/signal.ts'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startSweep } from '../../apps/dispatcher/src/upkeep/sweep.ts'
import { eventually } from '../support/wait.ts'
import { addLane, addLanes, owe, randomOf, settle, settlementOf, useBench } from './claim-fixture.ts'

const bench = useBench(20)

type Ways = { next(): 'safe' | 'fast'; record(mode: 'safe' | 'fast', ms: number, lanes: number): void }

/**
 * The dispatcher's claiming with its own parts, without sending: what is claimed is settled as delivered. Its lanes are found
 * by the sweep alone, and after the first rotation never from the first ticket.
 */
function startClaiming(mode: Ways, limit: number) {
  const bell = createBell()
  const marks = createMarks()
  const book = createLaneBook({ random: Math.random, now: () => performance.now(), onQueued: bell.ring })
  const claimed = new Map<string, number>()
  let stopped = false
  const sweep = startSweep({
    pool: bench.pool,
    book,
    marks,
    timing: { ...defaultTiming, sweepMs: 20, sweepAllMs: Number.POSITIVE_INFINITY },
    log: createLog('error'),
  })

  async function beats(): Promise<void> {
    while (!stopped) {
      marks.add(await beatDispatcher(bench.pool, bench.dispatcherId))
      await sleep(40)
    }
  }

  async function claims(): Promise<void> {
    while (!stopped) {
      if (book.queued() === 0) {
        await bell.wait(50)
        continue
      }
      const way = mode.next()
      const aims = book.next(64, way)
      const mark = marks.safe()
      const newest = marks.newest()
      const startedAt = performance.now()
      const lanes = await claimDeliveries(bench.pool, {
        lanes: aims,
        limit,
        perLane: limit,
        graceMs: 15_000,
        dispatcherId: bench.dispatcherId,
      })
      mode.record(way, performance.now() - startedAt, aims.length)
      const leases = lanes.flatMap((lane) => lane.leases)
      for (const lane of lanes)
        book.report({ ...lane, taken: lane.leases.length }, mark, newest, leases.length >= limit)
      const answered = new Set(lanes.map((lane) => lane.endpointId))
      for (const aim of aims) if (!answered.has(aim.endpointId)) book.miss(aim.endpointId)
      for (const lease of leases) claimed.set(lease.eventId, (claimed.get(lease.eventId) ?? 0) + 1)
      const settled = settle(
        bench.pool,
        leases.map((lease) => settlementOf(lease)),
      ).then(() => {
        for (const lease of leases) book.offer(lease.endpointId, 'own')
      })
      writing.add(settled)
      void settled.finally(() => writing.delete(settled))
    }
  }

  const writing = new Set<Promise<void>>()
  const running = [beats(), claims()]
  return {
    claimed,
    async stop() {
      stopped = true
      await sweep.stop()
      await Promise.all(running)
      await Promise.all(writing)
      book.stop()
    },
  }
}

/** Publishes in transactions that stay open for a while after their tickets were drawn. @returns what was committed */
async function publish(lanes: readonly string[], seed: number, transactions: number): Promise<string[]> {
  const random = randomOf(seed)
  const committed: string[] = []
  const client = await bench.pool.connect()
  try {
    for (let turn = 0; turn < transactions; turn++) {
      await client.query('begin')
      const ids: string[] = []
      for (let of = 1 + Math.floor(random() * 3); of > 0; of--) {
        ids.push(...(await owe(client, lanes[Math.floor(random() * lanes.length)]!, 1 + Math.floor(random() * 3))))
        if (random() < 0.2) await sleep(random() * 30)
      }
      if (random() < 0.5) await sleep(random() ** 3 * 300)
      if (random() < 0.15) await client.query('rollback')
      else {
        await client.query('commit')
        committed.push(...ids)
      }
    }
  } finally {
    client.release()
  }
  return committed
}

const always = (way: 'safe' | 'fast'): Ways => ({ next: () => way, record: () => undefined })

test.each([
  ['from fast alone, where only the sweep brings a claim from safe', () => always('fast')],
  ['from safe alone', () => always('safe')],
  ['by the measured choice', createClaimMode],
] as const)('no committed event is left behind, claiming %s', async (_, modeOf) => {
  const lanes = await addLanes(bench.pool, 6, { maxInFlight: 4 })
  const claiming = startClaiming(modeOf(), 10)
  onTestFinished(claiming.stop)
  const published = await Promise.all(Array.from({ length: 10 }, (_, at) => publish(lanes, at + 1, 30)))
  const committed = published.flat()
  const left = async (): Promise<number> => {
    const { rows } = await bench.pool.query<{ n: number }>(
      'select count(*)::integer as n from posthorn.delivery where endpoint_id = any($1)',
      [lanes],
    )
    return rows[0]!.n
  }
  await eventually(async () => (await left()) === 0 || Promise.reject(new Error(`${await left()} left`)), 30_000)
  expect(claiming.claimed.size).toBe(committed.length)
  expect(new Set(committed).symmetricDifference(new Set(claiming.claimed.keys())).size).toBe(0)
  // Each was leased once: nobody has lost a lease here.
  expect([...claiming.claimed.values()].filter((times) => times !== 1)).toEqual([])
})

test('remembering the last ticket taken strands what a slow transaction commits; the safe watermark does not', async () => {
  const lane = await addLane(bench.pool)
  const slow = await bench.pool.connect()
  onTestFinished(() => slow.release())
  await slow.query('begin')
  const [straggler] = await owe(slow, lane)
  const [quick] = await owe(bench.pool, lane)
  const marks = createMarks()
  for (let beat = 0; beat < 3; beat++) marks.add(await beatDispatcher(bench.pool, bench.dispatcherId))
  const claim = (readyFrom: bigint) =>
    claimDeliveries(bench.pool, {
      lanes: [{ endpointId: lane, readyFrom, leasedFrom: 0n }],
      limit: 10,
      perLane: 10,
      graceMs: 15_000,
      dispatcherId: bench.dispatcherId,
    })
  // The slow transaction keeps the marks from becoming safe.
  const mark = marks.safe()
  const [first] = await claim(mark)
  expect(first!.leases.map((lease) => lease.eventId)).toEqual([quick])
  await slow.query('commit')
  expect((await claim(first!.nextReady))[0]!.leases).toEqual([])
  expect((await claim(mark))[0]!.leases.map((lease) => lease.eventId)).toEqual([straggler])
})
