import { type Breaker, settleBreaker, type Tally } from '@posthorn/core'
import { type Settlement, settleDeliveries } from '@posthorn/core/sql'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addLane, scheduled, settlementOf, succeeded, useBench } from './claim-fixture.ts'
import { age, type LaneState, laneState, leaseAnyway } from './lane-fixture.ts'

/* The settle statement decides what breaker.ts decides, whatever comes in whatever order. */

const bench = useBench()

const disableAfterMs = 5 * 86_400_000

type Item = { kind: 'good' | 'bad' | 'unknown'; status: number; probe: boolean; laneWaitMs: number; atMs: number }

const items = fc.array(
  fc.record({
    kind: fc.constantFrom('good' as const, 'bad' as const, 'bad' as const, 'unknown' as const),
    status: fc.constantFrom(500, 500, 500, 429, 502, 503, 504),
    probe: fc.boolean(),
    laneWaitMs: fc.constantFrom(0, 0, 0, 30_000, 3_600_000),
    atMs: fc.integer({ min: 0, max: 50_000 }),
  }),
  { minLength: 1, maxLength: 14 },
)
const histories = fc.record({
  maxInFlight: fc.constantFrom(1, 2, 3, 20, 500),
  rounds: fc.array(
    fc.record({ items, pauseMs: fc.constantFrom(0, 0, 1_500, 9_000, 70_000, 1_800_000, 6 * 86_400_000) }),
    { minLength: 1, maxLength: 12 },
  ),
})

/** Counted by walking through the attempts, one after the other. */
function tallyOf(batch: readonly Item[]): Tally {
  const tally = {
    successes: 0,
    failures: 0,
    failuresSinceSuccess: 0,
    probeFailed: false,
    throttled: false,
    laneWaitMs: 0,
  }
  // Of those that ended at one moment, a success comes last.
  const order = batch.toSorted((a, b) => a.atMs - b.atMs || Number(a.kind === 'good') - Number(b.kind === 'good'))
  for (const item of order) {
    if (item.kind === 'good') {
      tally.successes++
      tally.failuresSinceSuccess = 0
    } else if (item.kind === 'bad') {
      tally.failures++
      tally.failuresSinceSuccess++
      tally.probeFailed ||= item.probe
      tally.throttled ||= item.status !== 500
      tally.laneWaitMs = Math.max(tally.laneWaitMs, item.laneWaitMs)
    }
  }
  return tally
}

const breakerOf = (state: LaneState): Breaker => ({
  failuresInARow: state.failures_in_a_row,
  windowStartedAtMs: state.window_ms,
  windowAttempts: state.window_attempts,
  windowFailures: state.window_failures,
  trips: state.trips,
  probing: state.probing,
  blockedUntilMs: state.blocked_ms,
  rampCap: state.ramp_cap,
  failingSinceMs: state.failing_ms,
})

/** Times of two clocks that were read within a millisecond or two of each other. */
const near = (ms: number | null) => (ms === null ? null : expect.closeTo(ms, -1))

test('whatever a settle holds, SQL decides as the model does', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async ({ maxInFlight, rounds }) => {
      const lane = await addLane(bench.pool, { maxInFlight })
      for (const round of rounds) {
        await age(bench.pool, lane, round.pauseMs)
        const leases = await leaseAnyway(bench, lane, round.items.length)
        const before = await bench.pool.query<{ at: Date }>('select clock_timestamp() as at')
        const settlements = round.items.map((item, at): Settlement => {
          const base = item.kind === 'good' ? succeeded : { ...scheduled, status: item.status, waitMs: 3_600_000 }
          return settlementOf(leases[at]!, {
            ...base,
            health: item.kind,
            watched: true,
            probe: item.probe,
            laneWaitMs: item.kind === 'bad' ? item.laneWaitMs : 0,
            startedAt: new Date(1_800_000_000_000 + item.atMs),
            durationMs: 0,
          })
        })
        const was = breakerOf(await laneState(bench.pool, lane, before.rows[0]!.at))
        const { blocked } = await settleDeliveries(bench.pool, settlements, { disableAfterMs })
        const ended = await bench.pool.query<{ at: Date }>(
          'select max(ended_at) as at from posthorn.attempt where event_id = $1',
          [leases[0]!.eventId],
        )
        // Settled some milliseconds after the state was read: that much nearer is what was to come.
        const lagMs = ended.rows[0]!.at.getTime() - before.rows[0]!.at.getTime()
        const now = await laneState(bench.pool, lane, ended.rows[0]!.at)
        const heard = round.items.some((item) => item.kind !== 'unknown')
        const unchanged = { breaker: was, change: null, disable: false }
        // Of what says nothing the lane hears nothing.
        const decide = (share: number) =>
          !heard
            ? unchanged
            : settleBreaker(was, tallyOf(round.items), {
                nowMs: lagMs,
                maxInFlight,
                disableAfterMs,
                random: () => share,
              })
        const [least, most] = [decide(0), decide(1)]
        expect(now).toMatchObject({
          failures_in_a_row: least.breaker.failuresInARow,
          window_attempts: least.breaker.windowAttempts,
          window_failures: least.breaker.windowFailures,
          trips: least.breaker.trips,
          probing: least.breaker.probing,
          ramp_cap: least.breaker.rampCap,
          status: least.disable ? 2 : 0,
          draining: least.disable,
        })
        const fromNow = (ms: number | null) => (ms === null ? null : ms - lagMs)
        expect({ window: now.window_ms, failing: now.failing_ms }).toEqual({
          window: near(fromNow(least.breaker.windowStartedAtMs)),
          failing: near(fromNow(least.breaker.failingSinceMs)),
        })
        if (least.breaker.blockedUntilMs === null) expect(now.blocked_ms).toBeNull()
        else {
          expect(now.blocked_ms).toBeGreaterThanOrEqual(least.breaker.blockedUntilMs - lagMs - 5)
          expect(now.blocked_ms).toBeLessThanOrEqual(most.breaker.blockedUntilMs! - lagMs + 5)
        }
        // What the dispatcher is told of the block is the block.
        if (heard && !least.disable && (now.blocked_ms ?? 0) > 5) {
          expect(blocked).toEqual([{ endpointId: lane, ms: expect.closeTo(now.blocked_ms!, -1) }])
        }
        if (least.disable) break
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
