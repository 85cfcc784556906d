import { createLog } from '@posthorn/core'
import {
  beatDispatcher,
  giveBackDeliveries,
  lookOut,
  type ReclaimOptions,
  reclaimDeliveries,
  registerDispatcher,
} from '@posthorn/core/sql'
import { expect, onTestFinished, test } from 'vitest'
import type { LaneBook } from '../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../apps/dispatcher/src/marks.ts'
import { defaultTiming } from '../../apps/dispatcher/src/timing.ts'
import { startLookout } from '../../apps/dispatcher/src/upkeep/lookout.ts'
import { startPromote } from '../../apps/dispatcher/src/upkeep/promote.ts'
import { startReclaim } from '../../apps/dispatcher/src/upkeep/reclaim.ts'
import { eventually } from '../support/wait.ts'
import { addLane, leasesOf, loggedAt, owe, owedAt, scheduled, settle, settlementOf, useBench } from './claim-fixture.ts'

const bench = useBench()

const hourMs = 3_600_000

async function reclaim(rest: Partial<ReclaimOptions> = {}) {
  const { taken } = await reclaimDeliveries(bench.pool, {
    low: 0n,
    silentMs: hourMs,
    graceMs: 15_000,
    defaultSteps: 9,
    limit: 500,
    startGraceMs: 0,
    ...rest,
  })
  return taken
}

async function endLeases(lane: string): Promise<void> {
  await bench.pool.query(
    `update posthorn.delivery set lease_expires_at = now() - interval '1 ms' where endpoint_id = $1 and state = 1`,
    [lane],
  )
}

test('a lease past its end is ready again, logged as lost, and uses up a step; one that lives is left', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  const lost = await leasesOf(bench, [lane], { limit: 2 })
  await endLeases(lane)
  const [living] = await leasesOf(bench, [lane])
  const taken = await reclaim()
  expect(taken.map((row) => row.eventId).sort()).toEqual(lost.map((lease) => lease.eventId).sort())
  expect(taken.every((row) => row.endpointId === lane && !row.usedUp)).toBe(true)
  const owed = await owedAt(bench.pool, [lane])
  expect(owed.map((row) => [row.state, row.step, row.attempts, row.leased])).toEqual([
    [1, 0, 1, true],
    [0, 1, 1, false],
    [0, 1, 1, false],
  ])
  expect(owed[0]!.event_id).toBe(living!.eventId)
  const logged = await loggedAt(bench.pool, [lane])
  expect(logged.map((row) => [row.number, row.outcome, row.state, row.reason])).toEqual([
    [1, 3, 0, null],
    [1, 3, 0, null],
  ])
  expect(await reclaim()).toEqual([])

  // What the old holder settles now matches nothing; the next lease has a number of its own.
  const { superseded } = await settle(bench.pool, [settlementOf(lost[0]!)])
  expect(superseded).toHaveLength(1)
  const again = await leasesOf(bench, [lane])
  expect(again.map((lease) => [lease.number, lease.step])).toEqual([
    [2, 1],
    [2, 1],
  ])
})

test('a delivery that loses every lease ends as failed, exhausted, when its schedule is used up', async () => {
  for (const [lane, steps] of [
    [await addLane(bench.pool, { retrySchedule: [1, 1] }), 2],
    [await addLane(bench.pool, { retrySchedule: [] }), 0],
    [await addLane(bench.pool), 3],
  ] as const) {
    await owe(bench.pool, lane)
    for (let step = 0; step <= steps; step++) {
      expect(await leasesOf(bench, [lane])).toMatchObject([{ number: step + 1, step }])
      await endLeases(lane)
      expect((await reclaim({ defaultSteps: 3 })).map((row) => row.usedUp)).toEqual([step === steps])
    }
    expect(await owedAt(bench.pool, [lane])).toEqual([])
    const logged = await loggedAt(bench.pool, [lane])
    expect(logged).toHaveLength(steps + 1)
    expect(logged.at(-1)).toMatchObject({ outcome: 3, state: 5, reason: 'exhausted', number: steps + 1 })
  }
})

test('the leases of a dispatcher that fell silent or is gone are taken back, not those of a living one', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  const silent = await registerDispatcher(bench.pool, 'silent', 1, '0')
  const [ofSilent] = await leasesOf(bench, [lane], { limit: 1, dispatcherId: silent })
  const [ofGone] = await leasesOf(bench, [lane], { limit: 1, dispatcherId: 999_999 })
  await leasesOf(bench, [lane], { limit: 1 })
  await bench.pool.query(`update posthorn.dispatcher set heartbeat_at = now() - interval '20 s' where id = $1`, [
    silent,
  ])
  await beatDispatcher(bench.pool, bench.dispatcherId)
  const taken = await reclaim({ silentMs: 14_000 })
  expect(taken.map((row) => row.eventId).sort()).toEqual([ofSilent!.eventId, ofGone!.eventId].sort())
})

test('nothing is taken back soon after the start of the database, neither silent nor ended: settles come first', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 2)
  const [ended] = await leasesOf(bench, [lane], { limit: 1 })
  await endLeases(lane)
  await leasesOf(bench, [lane], { limit: 1, dispatcherId: 999_999 })
  const { rows } = await bench.pool.query<{ ms: number }>(
    `select ceil(extract(epoch from now() - pg_postmaster_start_time()) * 1000)::integer as ms`,
  )
  expect(await reclaim({ silentMs: 14_000, startGraceMs: rows[0]!.ms + 60_000 })).toEqual([])
  // An attempt that was made before the outage is settled as if there had been none.
  expect(await settle(bench.pool, [settlementOf(ended!)])).toMatchObject({ superseded: [] })
  expect(await reclaim({ silentMs: 14_000 })).toHaveLength(1)
})

test('a limit bounds each call, and callers at once take each lease once', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 500 })
  await owe(bench.pool, lane, 120)
  await leasesOf(bench, [lane], { limit: 200 })
  await endLeases(lane)
  expect(await reclaim({ limit: 20 })).toHaveLength(20)
  const taken = (await Promise.all(Array.from({ length: 5 }, () => reclaim({ limit: 50 })))).flat()
  taken.push(...(await reclaim()))
  expect(taken).toHaveLength(100)
  expect(new Set(taken.map((row) => row.eventId)).size).toBe(100)
  const logged = await loggedAt(bench.pool, [lane])
  expect(logged).toHaveLength(120)
})

test('a lease that a settle is just ending is passed over, not waited for', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const [lease] = await leasesOf(bench, [lane])
  await endLeases(lane)
  const settling = await bench.pool.connect()
  onTestFinished(() => settling.release())
  await settling.query('begin')
  await settling.query('delete from posthorn.delivery where event_id = $1', [lease!.eventId])
  expect(await reclaim()).toEqual([])
  await settling.query('rollback')
  expect(await reclaim()).toHaveLength(1)
})

test('a claim that commits late is not below the tickets that reclaim still looks at', async () => {
  const early = await addLane(bench.pool)
  const late = await addLane(bench.pool)
  await owe(bench.pool, early)
  await owe(bench.pool, late)
  const marks = createMarks()
  const offered: string[] = []
  const beat = async (): Promise<void> => marks.add(await beatDispatcher(bench.pool, bench.dispatcherId))
  const claiming = await bench.pool.connect()
  onTestFinished(() => claiming.release())
  await claiming.query('begin')
  await claiming.query('select pg_current_xact_id()')
  const { rows } = await claiming.query<{ ticket: string }>(
    `update posthorn.delivery set state = 1, ticket = nextval('posthorn.ticket'), lease_expires_at = now(), dispatcher_id = $2, attempts = 1
     where endpoint_id = $1 returning ticket`,
    [late, bench.dispatcherId],
  )
  await leasesOf(bench, [early])
  await beat()

  const deps = {
    pool: bench.pool,
    book: { offer: (id: string) => offered.push(id) } as unknown as LaneBook,
    marks,
    timing: { ...defaultTiming, lookoutMs: 5, silentMs: hourMs, startGraceMs: 0 },
    log: createLog('silent'),
  }
  const promote = startPromote(deps)
  const reclaim = startReclaim({ ...deps, low: () => lookout.low(), defaultSteps: 9 })
  const other = { hurry: () => undefined }
  const lookout = startLookout({
    ...deps,
    told: { promote, reclaim, drain: other, reorder: other, jobs: other },
  })
  onTestFinished(async () => {
    await Promise.all([lookout.stop(), reclaim.stop(), promote.stop()])
  })
  for (let turn = 0; turn < 10; turn++) await beat()
  expect(marks.safe()).toBeLessThan(BigInt(rows[0]!.ticket))
  await claiming.query('commit')
  // From here on the marks pass both leases; the one that is over is found none the less.
  // Once no transaction on the whole server is older: other files have theirs.
  await eventually(async () => {
    await beat()
    return marks.safe() > BigInt(rows[0]!.ticket)
  }, 15_000)
  await eventually(() => offered.includes(late), 3_000)
  expect(offered).not.toContain(early)
  // A lease below the mark keeps the bound at itself.
  await endLeases(early)
  await eventually(() => offered.includes(early), 3_000)
})

test('the look-out tells the lowest lease, or that there is none', async () => {
  await bench.pool.query('delete from posthorn.delivery')
  const from = { due: '-infinity', settledMs: 0 }
  const look = (low: bigint) => lookOut(bench.pool, { low, silentMs: hourMs, startGraceMs: 0, from })
  const idle = { lost: false, lowest: null, dueMs: null, reordering: false, draining: false, job: false }
  expect(await look(0n)).toEqual(idle)
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 2)
  const leases = await leasesOf(bench, [lane])
  const tickets = leases.map((lease) => BigInt(lease.ticket)).sort((a, b) => (a < b ? -1 : 1))
  expect(await look(0n)).toEqual({ ...idle, lowest: tickets[0] })
  expect(await look(tickets[0]! + 1n)).toEqual({ ...idle, lowest: tickets[1] })
  await endLeases(lane)
  expect(await look(0n)).toEqual({ ...idle, lowest: tickets[0], lost: true })
})

test('a lease given back is as if it had never been: not logged, not counted, its number free again', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 2)
  const leases = await leasesOf(bench, [lane])
  expect(await giveBackDeliveries(bench.pool, leases)).toBe(2)
  expect((await owedAt(bench.pool, [lane])).map((row) => [row.state, row.attempts, row.step, row.leased])).toEqual([
    [0, 0, 0, false],
    [0, 0, 0, false],
  ])
  expect(await loggedAt(bench.pool, [lane])).toEqual([])
  expect(await giveBackDeliveries(bench.pool, leases)).toBe(0)
  expect((await leasesOf(bench, [lane])).map((lease) => lease.number)).toEqual([1, 1])
})

test('a stale ticket gives nothing back, whatever became of the delivery', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 4)
  const stale = await leasesOf(bench, [lane])
  await settle(bench.pool, [
    settlementOf(stale[0]!),
    settlementOf(stale[1]!, { ...scheduled, step: 1, waitMs: 60_000 }),
  ])
  await giveBackDeliveries(bench.pool, [stale[2]!, stale[3]!])
  await leasesOf(bench, [lane], { limit: 1 })
  const before = await owedAt(bench.pool, [lane])
  expect(before.map((row) => row.state).sort()).toEqual([0, 1, 2])
  expect(await giveBackDeliveries(bench.pool, stale)).toBe(0)
  expect(await owedAt(bench.pool, [lane])).toEqual(before.map((row) => ({ ...row, wait_ms: expect.any(Number) })))
})
