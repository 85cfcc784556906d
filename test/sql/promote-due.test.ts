import { createLog } from '@posthorn/core'
import { beatDispatcher, promoteDeliveries, readNextDue } from '@posthorn/core/sql'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { LaneBook } from '../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../apps/dispatcher/src/marks.ts'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startPromote } from '../../apps/dispatcher/src/upkeep/promote.ts'
import { eventually } from '../support/wait.ts'
import { addLane, addLanes, leasesOf, loggedAt, owe, owedAt, useBench } from './claim-fixture.ts'

const bench = useBench()

beforeEach(async () => {
  await bench.pool.query('delete from posthorn.delivery')
})

const beginning = { due: '-infinity', settledMs: 0 }

/** Owes events that are scheduled for so many milliseconds from now. @returns their ids, in that order */
async function schedule(lane: string, ...waitsMs: number[]): Promise<string[]> {
  const events = await owe(bench.pool, lane, waitsMs.length)
  for (const [at, event] of events.entries()) {
    await bench.pool.query(
      `update posthorn.delivery set state = 2, due_at = now() + $2 * interval '1 ms' where event_id = $1`,
      [event, waitsMs[at]],
    )
  }
  return events
}

async function states(lane: string): Promise<Map<string, number>> {
  return new Map((await owedAt(bench.pool, [lane])).map((row) => [row.event_id, row.state]))
}

test('what is due becomes ready with a new ticket, and nothing else does', async () => {
  const lane = await addLane(bench.pool)
  const other = await addLane(bench.pool)
  const [past, future] = await schedule(lane, -5_000, 60_000)
  await schedule(other, -1, -2)
  const before = await owedAt(bench.pool, [lane])
  const promoted = await promoteDeliveries(bench.pool, beginning, 100)
  expect(promoted.count).toBe(3)
  expect(promoted.endpointIds.sort()).toEqual([lane, other].sort())
  const after = new Map((await owedAt(bench.pool, [lane])).map((row) => [row.event_id, row]))
  expect(after.get(past!)).toMatchObject({ state: 0, step: 0, attempts: 0 })
  expect(after.get(future!)).toMatchObject({ state: 2 })
  expect(BigInt(after.get(past!)!.ticket) > BigInt(before.at(-1)!.ticket)).toBe(true)
  expect(await loggedAt(bench.pool, [lane])).toEqual([])
  expect(await promoteDeliveries(bench.pool, beginning, 100)).toEqual({ endpointIds: [], count: 0, lastDueAt: null })
})

test('the longest due come first, a batch at a time, and join their lane behind what is there', async () => {
  const lane = await addLane(bench.pool)
  const events = await schedule(lane, -100, -300, -200, -400, -500)
  const [waiting] = await owe(bench.pool, lane)
  expect((await promoteDeliveries(bench.pool, beginning, 2)).count).toBe(2)
  const after = await states(lane)
  expect(events.map((event) => after.get(event))).toEqual([2, 2, 2, 0, 0])
  const leases = await leasesOf(bench, [lane], { limit: 1 })
  expect(leases.map((lease) => lease.eventId)).toEqual([waiting])
})

test('promoters at once never take a row twice, and together take all', async () => {
  const lanes = await addLanes(bench.pool, 4)
  for (const lane of lanes) await owe(bench.pool, lane, 100)
  await bench.pool.query(`update posthorn.delivery set state = 2, due_at = now() - random() * interval '1 minute'`)
  let count = 0
  const work = async (): Promise<void> => {
    for (;;) {
      const promoted = await promoteDeliveries(bench.pool, beginning, 23)
      if (promoted.count === 0) return
      count += promoted.count
    }
  }
  await Promise.all(Array.from({ length: 6 }, work))
  expect(count).toBe(400)
  const rows = await owedAt(bench.pool, lanes)
  expect(rows.every((row) => row.state === 0)).toBe(true)
  expect(new Set(rows.map((row) => row.ticket)).size).toBe(400)
})

test('a row that a cancel holds is passed over, and found when that rolls back', async () => {
  const lane = await addLane(bench.pool)
  const [held, free] = await schedule(lane, -300, -200)
  const holder = await bench.pool.connect()
  onTestFinished(() => holder.release(true))
  await holder.query('begin')
  await holder.query('delete from posthorn.delivery where event_id = $1', [held])
  expect((await promoteDeliveries(bench.pool, beginning, 10)).count).toBe(1)
  expect((await states(lane)).get(free!)).toBe(0)
  await holder.query('rollback')
  expect((await promoteDeliveries(bench.pool, beginning, 10)).count).toBe(1)
})

test('the next moment something is due is told, or that there is none', async () => {
  const lane = await addLane(bench.pool)
  expect(await readNextDue(bench.pool, beginning)).toBeNull()
  await schedule(lane, 60_000, 30_000)
  const ms = (await readNextDue(bench.pool, beginning))!
  expect(ms).toBeGreaterThan(20_000)
  expect(ms).toBeLessThanOrEqual(30_000)
  await schedule(lane, -1_000)
  expect(await readNextDue(bench.pool, beginning)).toBe(0)
})

test('what is hidden below the start of the scan is found by one from the beginning', async () => {
  const lane = await addLane(bench.pool)
  await schedule(lane, -1_000)
  const first = await promoteDeliveries(bench.pool, beginning, 10)
  await schedule(lane, -5_000)
  const from = { due: first.lastDueAt!, settledMs: Date.now() + 60_000 }
  expect((await promoteDeliveries(bench.pool, from, 10)).count).toBe(0)
  expect((await promoteDeliveries(bench.pool, beginning, 10)).count).toBe(1)
})

test('a row that was due before its transaction committed is promoted at once, not at the next scan from the beginning', async () => {
  const lane = await addLane(bench.pool)
  const marks = createMarks()
  const loop = startPromote({
    pool: bench.pool,
    book: { offer: () => undefined } as unknown as LaneBook,
    marks,
    timing: { ...defaultTiming, unaskedMs: 10 },
    log: createLog('error'),
  })
  onTestFinished(loop.stop)
  const slow = await bench.pool.connect()
  onTestFinished(() => slow.release(true))
  await slow.query('begin')
  const [late] = await owe(slow, lane)
  await slow.query('update posthorn.delivery set state = 2, due_at = now() where event_id = $1', [late])
  // Meanwhile others become due later, and are promoted: the scan begins after them from now on.
  for (let turn = 0; turn < 3; turn++) {
    const [quick] = await schedule(lane, 0)
    await eventually(async () => (await states(lane)).get(quick!) === 0, 5_000)
    marks.add(await beatDispatcher(bench.pool, bench.dispatcherId))
  }
  await slow.query('commit')
  await eventually(async () => (await states(lane)).get(late!) === 0, 5_000)
})
