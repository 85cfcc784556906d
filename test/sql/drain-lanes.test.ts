import { createLog } from '@posthorn/core'
import {
  cancelAtClosedLane,
  finishLaneDrain,
  markLanesDraining,
  noLane,
  readDrainingLanes,
  sweepLanes,
} from '@posthorn/core/sql'
import { expect, onTestFinished, test } from 'vitest'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startDrain } from '../../apps/dispatcher/src/upkeep/drain.ts'
import { eventually } from '../support/wait.ts'
import {
  addLane,
  addLanes,
  failed,
  leasesOf,
  loggedAt,
  owe,
  owedAt,
  scheduled,
  settle,
  settlementOf,
  useBench,
} from './claim-fixture.ts'

const bench = useBench(16)

function draining() {
  const loop = startDrain({ pool: bench.pool, timing: { ...defaultTiming, unaskedMs: 10 }, log: createLog('warn') })
  onTestFinished(loop.stop)
  return loop
}

async function close(lane: string, status: 2 | 3 = 2): Promise<void> {
  await bench.pool.query('update posthorn.lane set status = $2, draining = true where endpoint_id = $1', [lane, status])
}

async function isDraining(lane: string): Promise<boolean> {
  const { rows } = await bench.pool.query<{ draining: boolean }>(
    'select draining from posthorn.lane where endpoint_id = $1',
    [lane],
  )
  return rows[0]!.draining
}

/** Ready, held and scheduled rows, and leased ones. */
async function fill(lane: string): Promise<void> {
  const [held, first, second] = await owe(bench.pool, lane, 6)
  await bench.pool.query('update posthorn.delivery set state = 3 where event_id = $1', [held])
  await bench.pool.query(
    `update posthorn.delivery set state = 2, due_at = now() + interval '1 hour', attempts = 4 where event_id = any($1)`,
    [[first, second]],
  )
}

test('what is ready, held or scheduled at a closed lane ends canceled with the reason; what is leased is left', async () => {
  const disabled = await addLane(bench.pool)
  const deleted = await addLane(bench.pool)
  const open = await addLane(bench.pool)
  for (const lane of [disabled, deleted, open]) await fill(lane)
  const leases = await leasesOf(bench, [disabled, deleted], { perLane: 1, limit: 2 })
  expect(leases).toHaveLength(2)
  await close(disabled)
  await close(deleted, 3)
  draining()
  const closed = [disabled, deleted]
  await eventually(async () => (await owedAt(bench.pool, closed)).length === 2, 5_000)
  expect((await owedAt(bench.pool, closed)).map((row) => row.ticket).sort()).toEqual(
    leases.map((lease) => lease.ticket).sort(),
  )
  for (const [lane, reason] of [
    [disabled, 'endpoint_disabled'],
    [deleted, 'endpoint_deleted'],
  ] as const) {
    const logged = await loggedAt(bench.pool, [lane])
    expect(logged.map((row) => [row.outcome, row.state, row.reason])).toEqual(
      Array.from({ length: 5 }, () => [0, 6, reason]),
    )
    expect(logged.map((row) => row.number).sort()).toEqual([0, 0, 0, 4, 4])
    // A lease may still bring something back.
    expect(await isDraining(lane)).toBe(true)
  }
  await settle(bench.pool, [
    settlementOf(leases[0]!),
    settlementOf(leases[1]!, { ...scheduled, step: 1, waitMs: 60_000 }),
  ])
  for (const lane of closed) await eventually(async () => !(await isDraining(lane)), 5_000)
  expect(await owedAt(bench.pool, closed)).toEqual([])
  expect((await owedAt(bench.pool, [open])).length).toBe(6)
  await bench.pool.query('delete from posthorn.delivery')
})

test('a lane that is enabled again keeps what it is owed from then on, also when a drain has just read it as closed', async () => {
  for (const status of [0, 1]) {
    const lane = await addLane(bench.pool)
    await owe(bench.pool, lane)
    await close(lane)
    const [read] = await readDrainingLanes(bench.pool, 10)
    await bench.pool.query('update posthorn.lane set status = $2, draining = false where endpoint_id = $1', [
      lane,
      status,
    ])
    await owe(bench.pool, lane, 2)
    expect(await cancelAtClosedLane(bench.pool, read!, 100)).toBe(0)
    expect((await owedAt(bench.pool, [lane])).length).toBe(3)
  }
  await bench.pool.query('delete from posthorn.delivery')
})

test('the flag does not fall while a settle that began before the closing may bring a scheduled row', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const [lease] = await leasesOf(bench, [lane])
  // A settle that saw the lane as open when it began, and is not committed yet.
  const settling = await bench.pool.connect()
  onTestFinished(() => settling.release())
  await settling.query('begin')
  await settling.query(
    `update posthorn.delivery set state = 2, ticket = nextval('posthorn.ticket'), due_at = now() + interval '1 day'
     where event_id = $1`,
    [lease!.eventId],
  )
  await close(lane)
  await cancelAtClosedLane(bench.pool, lane, 100)
  expect(await finishLaneDrain(bench.pool, lane)).toBe(false)
  await settling.query('commit')
  expect(await finishLaneDrain(bench.pool, lane)).toBe(false)
  draining()
  await eventually(async () => !(await isDraining(lane)), 5_000)
  expect(await owedAt(bench.pool, [lane])).toEqual([])
  expect((await loggedAt(bench.pool, [lane])).map((row) => row.reason)).toEqual(['endpoint_disabled'])
})

test('scheduled rows of other lanes are neither canceled nor looked at', async () => {
  const open = await addLane(bench.pool)
  const closed = await addLane(bench.pool)
  await owe(bench.pool, open, 60)
  await owe(bench.pool, closed, 30)
  await bench.pool.query(`update posthorn.delivery set state = 2, due_at = now() + interval '1 hour'`)
  await close(closed)
  expect(await cancelAtClosedLane(bench.pool, closed, 20)).toBe(20)
  expect(await finishLaneDrain(bench.pool, closed)).toBe(false)
  expect(await cancelAtClosedLane(bench.pool, closed, 20)).toBe(10)
  expect(await finishLaneDrain(bench.pool, closed)).toBe(true)
  expect((await owedAt(bench.pool, [open])).length).toBe(60)
  await bench.pool.query('delete from posthorn.delivery')
})

test('what a late commit leaves at a closed lane is found by the sweep and canceled', async () => {
  const lane = await addLane(bench.pool)
  const publisher = await bench.pool.connect()
  onTestFinished(() => publisher.release())
  await publisher.query('begin')
  await owe(publisher, lane, 2)
  await close(lane)
  draining()
  await eventually(async () => !(await isDraining(lane)), 5_000)
  await publisher.query('commit')
  const closed = (await sweepLanes(bench.pool, noLane, 0n, 10)).filter((swept) => swept.closed)
  expect(closed.map((swept) => swept.endpointId)).toEqual([lane])
  await markLanesDraining(bench.pool, [lane])
  await eventually(async () => (await owedAt(bench.pool, [lane])).length === 0, 5_000)
  expect((await loggedAt(bench.pool, [lane])).map((row) => row.reason)).toEqual([
    'endpoint_disabled',
    'endpoint_disabled',
  ])
})

test('an open lane is never marked as draining', async () => {
  const lanes = [await addLane(bench.pool), await addLane(bench.pool, { status: 1 })]
  await markLanesDraining(bench.pool, lanes)
  expect(await readDrainingLanes(bench.pool, 10)).toEqual([])
})

test('a drain that cannot lock a row passes it over and comes again', async () => {
  const lane = await addLane(bench.pool)
  const [held] = await owe(bench.pool, lane, 3)
  await close(lane)
  const holder = await bench.pool.connect()
  onTestFinished(() => holder.release())
  await holder.query('begin')
  await holder.query('select from posthorn.delivery where event_id = $1 for update', [held])
  draining()
  await eventually(async () => (await owedAt(bench.pool, [lane])).length === 1, 5_000)
  expect(await isDraining(lane)).toBe(true)
  await holder.query('rollback')
  await eventually(async () => !(await isDraining(lane)), 5_000)
  expect(await owedAt(bench.pool, [lane])).toEqual([])
})

test('lanes are drained under load without a deadlock: every delivery ends once', async () => {
  const lanes = await addLanes(bench.pool, 8, { maxInFlight: 50 })
  for (const lane of lanes) await owe(bench.pool, lane, 150)
  draining()
  let open = [...lanes]
  async function work(at: number): Promise<void> {
    for (let turn = 0; ; turn++) {
      const order = open.map((_, shift) => open[(shift + at) % open.length]!)
      const leases = order.length === 0 ? [] : await leasesOf(bench, order, { limit: 30 })
      if (leases.length === 0 && open.length === 0) return
      await settle(
        bench.pool,
        leases.map((lease, n) =>
          settlementOf(
            lease,
            n % 5 === 0
              ? { ...scheduled, step: 1, waitMs: 60_000, laneWaitMs: 1, status: 429 }
              : n % 7 === 0
                ? { ...failed, state: 0 }
                : {},
          ),
        ),
      )
      if (turn % 3 === 2 && at === 0) {
        const [lane, ...rest] = open
        open = rest
        if (lane !== undefined) await close(lane)
      }
    }
  }
  await Promise.all([work(0), work(1), work(2), work(3)])
  for (const lane of lanes) await eventually(async () => !(await isDraining(lane)), 10_000)
  expect(await owedAt(bench.pool, lanes)).toEqual([])
  const { rows } = await bench.pool.query<{ n: number; ends: number }>(
    `select count(distinct event_id)::integer as n, count(*) filter (where state >= 4)::integer as ends
     from posthorn.attempt where endpoint_id = any($1)`,
    [lanes],
  )
  expect(rows[0]).toEqual({ n: 1_200, ends: 1_200 })
  const { rows: faults } = await bench.pool.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  expect(faults[0]!.deadlocks).toBe('0')
}, 30_000)
