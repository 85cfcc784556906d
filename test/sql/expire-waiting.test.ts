import { createLog } from '@posthorn/core'
import { beforeAllLanes, type ExpireCursor, expireWaiting } from '@posthorn/core/sql'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startExpire } from '../../apps/dispatcher/src/upkeep/expire.ts'
import { eventually } from '../support/wait.ts'
import { addLane, leasesOf, loggedAt, owe, owedAt, useBench } from './claim-fixture.ts'

const bench = useBench()

afterEach(async () => {
  await bench.pool.query('delete from posthorn.delivery')
})

const maxAgeMs = 5 * 86_400_000
const old = `now() - interval '6 days'`

/** Some too old, some not. @returns the events of those that are */
async function fill(lane: string, count = 4): Promise<string[]> {
  const events = await owe(bench.pool, lane, count * 2)
  const aged = events.filter((_, at) => at % 2 === 1)
  await bench.pool.query(`update posthorn.delivery set owed_at = ${old}, attempts = 2 where event_id = any($1)`, [aged])
  return aged
}

async function round(lanes = 1_000, rows = 1_000): Promise<{ expired: number; steps: number }> {
  let expired = 0
  let steps = 0
  for (let from: ExpireCursor | null = beforeAllLanes; from !== null; steps++) {
    const step = await expireWaiting(bench.pool, { from, maxAgeMs, lanes, rows })
    expired += step.expired
    from = step.next
  }
  return { expired, steps }
}

test('what is too old at a paused, blocked, probing or limited lane ends as expired, without an attempt', async () => {
  for (const change of [
    'status = 1',
    `blocked_until = now() + interval '1 minute'`,
    'probing = true',
    'rate_interval_us = 1000000, rate_burst = 1',
  ]) {
    const lane = await addLane(bench.pool)
    await bench.pool.query(`update posthorn.lane set ${change} where endpoint_id = $1`, [lane])
    const aged = await fill(lane)
    expect((await round()).expired).toBe(4)
    expect((await owedAt(bench.pool, [lane])).length).toBe(4)
    const logged = await loggedAt(bench.pool, [lane])
    expect(logged.map((row) => [row.event_id, row.outcome, row.state, row.reason, row.number])).toEqual(
      aged.toSorted().map((event) => [event, 0, 5, 'expired', 2]),
    )
    await bench.pool.query('delete from posthorn.delivery')
  }
})

test('open lanes are left to their claims, and closed ones to the drain', async () => {
  for (const status of [0, 2, 3] as const) await fill(await addLane(bench.pool, { status }))
  expect((await round()).expired).toBe(0)
})

test('what is leased or scheduled is left', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 4)
  await bench.pool.query(`update posthorn.delivery set owed_at = ${old}`)
  await leasesOf(bench, [lane], { limit: 2 })
  await bench.pool.query(`update posthorn.delivery set state = 2 where state = 0`)
  await bench.pool.query('update posthorn.lane set status = 1 where endpoint_id = $1', [lane])
  expect((await round()).expired).toBe(0)
})

test('a round in small steps meets every lane and row once, wherever a step is cut off', async () => {
  const lanes: string[] = []
  for (let at = 0; at < 7; at++) {
    const lane = await addLane(bench.pool, { status: at % 3 === 0 ? 0 : 1 })
    if (at % 3 !== 0) lanes.push(lane)
    await fill(lane, at)
  }
  const { expired, steps } = await round(2, 3)
  // Two of each seven are open: lanes 0, 3 and 6; the others had 1 + 2 + 4 + 5 that were too old.
  expect(expired).toBe(12)
  expect(steps).toBeGreaterThan(8)
  const left = await owedAt(bench.pool, lanes)
  expect(left).toHaveLength(12)
})

test('a row that somebody else holds is passed over, and ends in the next round', async () => {
  const lane = await addLane(bench.pool, { status: 1 })
  const [held] = await fill(lane)
  const holder = await bench.pool.connect()
  onTestFinished(() => holder.release())
  await holder.query('begin')
  await holder.query('select from posthorn.delivery where event_id = $1 for update', [held])
  expect((await round()).expired).toBe(3)
  await holder.query('rollback')
  expect((await round()).expired).toBe(1)
})

test('the upkeep goes round again and again', async () => {
  const loop = startExpire({
    pool: bench.pool,
    timing: { ...defaultTiming, expireMs: 10 },
    maxAgeMs,
    log: createLog('warn'),
  })
  onTestFinished(loop.stop)
  for (let turn = 0; turn < 3; turn++) {
    const lane = await addLane(bench.pool, { status: 1 })
    await fill(lane)
    await eventually(async () => (await owedAt(bench.pool, [lane])).length === 4, 5_000)
  }
})
