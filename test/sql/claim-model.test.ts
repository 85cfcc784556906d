import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLaneBook, type LaneAim } from '../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../apps/dispatcher/src/marks.ts'

/*
 * The lane book and the marks against a model of the database: transactions that draw tickets and commit when they like, a
 * sweep from the safe mark of the rotation before, claims in any way, at any time, that may fail. No Postgres is needed.
 */

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

type Row = { lane: string; ticket: bigint; state: 'uncommitted' | 'ready' | 'gone' }
type Transaction = { xid: bigint; rows: Row[] }
/** `claim`: it failed. `locked`, `full`: every other lane could not be locked, or is at its cap. */
type Fault = 'none' | 'claim' | 'locked' | 'full'
type Step =
  | { do: 'begin' }
  | { do: 'publish'; lane: number; of: number }
  | { do: 'end'; of: number; commit: boolean }
  | { do: 'beat' }
  | { do: 'sweep' }
  | { do: 'age' }
  | { do: 'sweep-all' }
  | { do: 'doorbell' | 'settled' | 'hold'; lane: number }
  | { do: 'aim'; count: number; safe: boolean }
  | { do: 'answer'; limit: number; fault: Fault }
  | { do: 'pass'; ms: number }

const laneCount = 2

function createWorld() {
  const book = createLaneBook({ random: () => 0.5, now: () => performance.now(), onQueued: () => undefined })
  const marks = createMarks()
  let ticket = 0n
  let xid = 0n
  const rows: Row[] = []
  let open: Transaction[] = []
  let formerMark = 0n
  let flight: { aims: LaneAim[]; mark: bigint; newest: bigint } | null = null

  const lane = (n: number): string => `lane ${n % laneCount}`
  const ready = (id: string, from: bigint): Row[] =>
    rows.filter((row) => row.lane === id && row.state === 'ready' && row.ticket >= from)

  const world = {
    left: () => rows.filter((row) => row.state === 'ready').length,
    begin: () => void open.push({ xid: ++xid, rows: [] }),
    publish(of: number, laneNo: number) {
      const transaction = open[of % open.length]
      if (transaction === undefined) return
      const row: Row = { lane: lane(laneNo), ticket: ++ticket, state: 'uncommitted' }
      transaction.rows.push(row)
      rows.push(row)
    },
    end(of: number, commit: boolean) {
      const transaction = open[of % open.length]
      if (transaction === undefined) return
      open = open.filter((other) => other !== transaction)
      for (const row of transaction.rows) row.state = commit ? 'ready' : 'gone'
    },
    endAll() {
      while (open.length > 0) world.end(0, true)
    },
    beat() {
      const own = ++xid
      const xmin = open.reduce((least, { xid: each }) => (each < least ? each : least), own)
      marks.add({ ticket, xid: own, xmin, atMs: Date.now() })
    },
    sweep() {
      const mark = formerMark
      formerMark = marks.safe()
      for (let n = 0; n < laneCount; n++) if (ready(lane(n), mark).length > 0) book.offer(lane(n), 'sweep')
    },
    sweepAll() {
      for (let n = 0; n < laneCount; n++) if (ready(lane(n), 0n).length > 0) book.offer(lane(n), 'sweep-all')
    },
    /** Seconds go by: what has ended falls below the safe mark, and below that of the sweeps. */
    age() {
      for (let beat = 0; beat < 3; beat++) {
        world.sweep()
        world.beat()
      }
      world.sweep()
    },
    doorbell: (n: number) => book.offer(lane(n), 'doorbell'),
    settled: (n: number) => book.offer(lane(n), 'own'),
    hold: (n: number) => book.hold(lane(n), 150),
    aim(count: number, safe: boolean) {
      if (flight !== null) return
      const aims = book.next(count, safe ? 'safe' : 'fast')
      if (aims.length === 0) return
      expect(new Set(aims.map((aim) => aim.endpointId)).size).toBe(aims.length)
      if (safe) {
        // Nothing ready, and nothing that may become ready, is below the safe watermark.
        for (const aim of aims) {
          const below = rows.filter(
            (row) => row.lane === aim.endpointId && row.state !== 'gone' && row.ticket < aim.readyFrom,
          )
          expect(below).toEqual([])
        }
      }
      flight = { aims, mark: marks.safe(), newest: marks.newest() }
    },
    answer(limit: number, fault: Fault) {
      if (flight === null) return
      const { aims, mark, newest } = flight
      flight = null
      if (fault === 'claim') return book.restore(aims)
      let left = limit
      const reports = aims.flatMap((aim, n) => {
        if (fault === 'locked' && n % 2 === 0) {
          book.miss(aim.endpointId)
          return []
        }
        const atCap = fault === 'full' && n % 2 === 0
        const due = ready(aim.endpointId, aim.readyFrom).sort((a, b) => (a.ticket < b.ticket ? -1 : 1))
        const taken = due.slice(0, atCap ? 0 : Math.min(2, left))
        left -= taken.length
        for (const row of taken) row.state = 'gone'
        const last = taken.at(-1)
        return {
          endpointId: aim.endpointId,
          taken: taken.length,
          asked: atCap ? 0 : 2,
          room: atCap ? 0 : 2,
          nextReady: last === undefined ? 0n : last.ticket + 1n,
          lowestLeased: null,
        }
      })
      for (const report of reports) book.report(report, mark, newest, left <= 0)
    },
    pass: (ms: number) => void vi.advanceTimersByTime(ms),
    stop: () => book.stop(),
  }
  return world
}

const lanes = fc.nat(laneCount - 1)
const few = fc.nat(2)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.constant<Step>({ do: 'begin' }),
    { arbitrary: fc.record({ do: fc.constant('publish' as const), lane: lanes, of: few }), weight: 3 },
    { arbitrary: fc.record({ do: fc.constant('end' as const), of: few, commit: fc.boolean() }), weight: 2 },
    { arbitrary: fc.constant<Step>({ do: 'beat' }), weight: 3 },
    { arbitrary: fc.constant<Step>({ do: 'sweep' }), weight: 3 },
    fc.constant<Step>({ do: 'age' }),
    fc.constant<Step>({ do: 'sweep-all' }),
    {
      arbitrary: fc.record({
        do: fc.constantFrom('doorbell' as const, 'doorbell' as const, 'settled' as const, 'hold' as const),
        lane: lanes,
      }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        do: fc.constant('aim' as const),
        count: fc.integer({ min: 1, max: 3 }),
        safe: fc.boolean(),
      }),
      weight: 4,
    },
    {
      arbitrary: fc.record({
        do: fc.constant('answer' as const),
        limit: fc.integer({ min: 1, max: 5 }),
        fault: fc.constantFrom<Fault>('none', 'none', 'none', 'none', 'claim', 'locked', 'full'),
      }),
      weight: 4,
    },
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 200 }) }),
  ),
  { minLength: 20, maxLength: 200, size: 'max' },
)

function take(world: ReturnType<typeof createWorld>, step: Step, safe: boolean): void {
  if (step.do === 'begin') world.begin()
  if (step.do === 'publish') world.publish(step.of, step.lane)
  if (step.do === 'end') world.end(step.of, step.commit)
  if (step.do === 'beat') world.beat()
  if (step.do === 'sweep') world.sweep()
  if (step.do === 'age') world.age()
  if (step.do === 'sweep-all') world.sweepAll()
  if (step.do === 'doorbell') world.doorbell(step.lane)
  if (step.do === 'settled') world.settled(step.lane)
  if (step.do === 'hold') world.hold(step.lane)
  if (step.do === 'aim') world.aim(step.count, step.safe && safe)
  if (step.do === 'answer') world.answer(step.limit, step.fault)
  if (step.do === 'pass') world.pass(step.ms)
}

test.each([
  ['fast alone', false],
  ['safe and fast', true],
])('whatever happened before, sweeps and claims from %s find all that was committed', (_, safe) => {
  fc.assert(
    fc.property(steps, (taken) => {
      const world = createWorld()
      for (const step of taken) take(world, step, safe)
      world.answer(5, 'none')
      world.endAll()
      // Then only what the dispatcher does by itself.
      for (let turn = 0; turn < 60 && world.left() > 0; turn++) {
        world.sweep()
        world.aim(3, false)
        world.answer(5, 'none')
        world.beat()
        world.pass(100)
      }
      expect(world.left()).toBe(0)
      world.stop()
    }),
    { numRuns: 2_000 },
  )
})
