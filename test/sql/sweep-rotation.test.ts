import { createLog } from '@posthorn/core'
import { beatDispatcher, noLane, sweepLanes } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import type { LaneBook } from '../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../apps/dispatcher/src/marks.ts'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startSweep } from '../../apps/dispatcher/src/upkeep/sweep.ts'
import { eventually } from '../support/wait.ts'
import { addLane, addLanes, owe, useBench } from './claim-fixture.ts'

const bench = useBench()

const swept = async (after: string, mark: bigint, limit: number): Promise<string[]> =>
  (await sweepLanes(bench.pool, after, mark, limit)).map((lane) => lane.endpointId)

async function safeMarkAbove(ticket: bigint, marks = createMarks()) {
  await eventually(async () => {
    marks.add(await beatDispatcher(bench.pool, bench.dispatcherId))
    return marks.safe() >= ticket
  }, 5_000)
  return marks
}

test('the sweep goes through all lanes with ready work, a bounded number a call, in the order of their ids', async () => {
  const lanes = (await addLanes(bench.pool, 7)).sort()
  for (const lane of lanes) await owe(bench.pool, lane, 3)
  expect(await swept(noLane, 0n, 3)).toEqual(lanes.slice(0, 3))
  expect(await swept(lanes[2]!, 0n, 3)).toEqual(lanes.slice(3, 6))
  expect(await swept(lanes[5]!, 0n, 3)).toEqual(lanes.slice(6))
  expect(await swept(lanes[6]!, 0n, 3)).toEqual([])
  await bench.pool.query('delete from posthorn.delivery')
})

test('the sweep tells which lanes are open and which are closed, and sees nothing below its mark', async () => {
  const open = await addLane(bench.pool)
  const paused = await addLane(bench.pool, { status: 1 })
  const disabled = await addLane(bench.pool, { status: 2 })
  const deleted = await addLane(bench.pool, { status: 3 })
  const blocked = await addLane(bench.pool)
  await bench.pool.query(`update posthorn.lane set blocked_until = now() + interval '1 hour' where endpoint_id = $1`, [
    blocked,
  ])
  for (const lane of [open, paused, disabled, deleted, blocked]) await owe(bench.pool, lane)
  const lanes = new Map((await sweepLanes(bench.pool, noLane, 0n, 10)).map((lane) => [lane.endpointId, lane]))
  const told = (id: string) => [lanes.get(id)!.open, lanes.get(id)!.closed]
  expect([open, paused, disabled, deleted, blocked].map(told)).toEqual([
    [true, false],
    [false, false],
    [false, true],
    [false, true],
    [false, false],
  ])
  const { rows } = await bench.pool.query<{ last: string }>('select last_value as last from posthorn.ticket')
  const last = BigInt(rows[0]!.last)
  expect(await swept(noLane, last, 10)).toEqual([blocked])
  expect(await swept(noLane, last + 1n, 10)).toEqual([])
  await bench.pool.query('delete from posthorn.delivery')
})

test('a sweep that failed is made again from the mark that it had: nothing committed meanwhile is missed', async () => {
  const lane = await addLane(bench.pool)
  const marks = await safeMarkAbove(1n)
  const offers: string[] = []
  const book = { offer: (id: string, found: string) => offers.push(`${found} ${id}`) } as unknown as LaneBook
  const pool = bench.poolOf(1, 250)
  await owe(bench.pool, lane)
  const sweep = startSweep({
    pool,
    book,
    marks,
    timing: { ...defaultTiming, sweepMs: 60_000, sweepAllMs: Number.POSITIVE_INFINITY },
    log: createLog('fatal'),
  })
  const waiting = async (): Promise<boolean> => {
    const locks = await bench.pool.query(
      `select from pg_locks where not granted and relation = 'posthorn.lane'::regclass`,
    )
    return locks.rows.length > 0
  }
  const holder = await bench.pool.connect()
  try {
    // The rotation from the first ticket on is over; the next looks from a mark.
    await eventually(() => offers.length === 1, 5_000)
    await bench.pool.query('delete from posthorn.delivery')
    await owe(bench.pool, lane)
    const { rows } = await bench.pool.query<{ ticket: string }>('select ticket from posthorn.delivery')
    await bench.pool.query(`select pg_current_xact_id(), nextval('posthorn.ticket')`)
    await safeMarkAbove(BigInt(rows[0]!.ticket) + 1n, marks)
    // A rotation begins, waits for the lock, and fails, when the mark is above the row already.
    await holder.query('begin')
    await holder.query('lock table posthorn.lane in access exclusive mode')
    sweep.hurry()
    await eventually(waiting, 5_000)
    await eventually(async () => !(await waiting()), 5_000)
    await holder.query('rollback')
    await eventually(() => offers.length > 1, 5_000)
    expect(offers[1]).toBe(`sweep ${lane}`)
  } finally {
    holder.release(true)
    await sweep.stop()
  }
}, 20_000)
