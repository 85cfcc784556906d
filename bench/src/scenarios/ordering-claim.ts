import { uuidV7 } from '@posthorn/core'
import { createPool, type Pool } from '@posthorn/core/db'
import {
  claimDeliveries,
  type LaneClaim,
  type Lease,
  outcomeCode,
  registerDispatcher,
  type Settlement,
  settleDeliveries,
  stateCode,
} from '@posthorn/core/sql'
import type pg from 'pg'
import { median } from '../measure/statistics.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { type Seeded, seedBacklog, seedEndpoints } from '../stage/seed.ts'
import { clear } from './ordering.ts'

const stuckCount = 100_000
const keys = 10_000
const waiting = 40_000
const claims = 150
// A dispatcher's own: see its claimer.
const rowsPerClaim = 200

export const orderingClaim: Scenario = {
  name: 'ordering-claim',
  what: 'the time of a claim of 200 from one lane ordered by key, beside a key that holds 100,000, against one without order',
  unit: 'ms',
  yardstick: 'without order',
  targets: [{ metric: 'ratio', is: 'below', value: 1.3, label: '1.3 of without order' }],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const [endpoint] = await seedEndpoints(observer, {
      endpoints: [{ tenant: 'ordered', url: 'http://127.0.0.1:9/' }],
      maxInFlight: 1_000,
    })
    const samples = { none: [] as number[], by_key: [] as number[] }
    let holdUs = 0
    for (const kind of ['none', 'by_key', 'none', 'by_key', 'none'] as const) {
      stage.say(kind === 'none' ? 'claims without order' : 'claims beside a stuck key')
      const measured = await claimBesideStuckKey(stage, observer, endpoint!, kind)
      samples[kind].push(...measured.claimMs)
      holdUs = Math.max(holdUs, measured.holdUs)
      await observer.query(clear)
    }
    const value = median(samples.by_key)
    return {
      value,
      ratio: value / median(samples.none),
      metrics: {},
      details: {
        held: stuckCount,
        keys,
        waiting,
        claim_ms_without_order: median(samples.none),
        claim_ms_beside_stuck_key: value,
        hold_us_each: holdUs,
      },
    }
  },
}

/**
 * Claims of 200 from one lane, settled in between as succeeded. By key, another key holds 100,000 more behind a head that waits
 * for its retry.
 */
async function claimBesideStuckKey(
  stage: Stage,
  observer: pg.Client,
  endpoint: Seeded,
  kind: 'none' | 'by_key',
): Promise<{ claimMs: number[]; holdUs: number }> {
  const pool = createPool({
    connectionString: stage.databaseUrl,
    max: 1,
    applicationName: 'posthorn bench claim',
    onError: () => undefined,
  })
  try {
    const lane = createClaimant(pool, endpoint.id, await registerDispatcher(pool, 'bench', process.pid, '0'))
    await observer.query('update posthorn.lane set ordering = $1', [kind === 'none' ? 0 : 2])
    let holdUs = 0
    if (kind === 'by_key') {
      await seedBacklog(observer, [endpoint], stuckCount + 1, ['stuck'])
      const startedAt = performance.now()
      for (let gone = 0; gone <= stuckCount; ) {
        const claim = await lane.claim()
        gone += claim.taken
        await lane.settle(claim.leases, { outcome: outcomeCode.failed, state: stateCode.scheduled, waitMs: 3_600_000 })
      }
      holdUs = ((performance.now() - startedAt) * 1_000) / stuckCount
    }
    const names = Array.from({ length: keys }, (_, n) => `order-${n}`)
    await seedBacklog(observer, [endpoint], waiting, names)
    const claimMs: number[] = []
    for (let n = 0; n < claims; n++) {
      const startedAt = performance.now()
      const { leases } = await lane.claim()
      claimMs.push(performance.now() - startedAt)
      if (leases.length !== rowsPerClaim) throw new Error(`a claim got ${leases.length} leases`)
      await lane.settle(leases, { outcome: outcomeCode.succeeded, state: stateCode.succeeded })
    }
    return { claimMs, holdUs }
  } finally {
    await pool.end()
  }
}

/** Claims and settles as a dispatcher alone on its lane does, from the watermark that its claims leave. */
function createClaimant(pool: Pool, endpointId: string, dispatcherId: number) {
  let from = 0n
  return {
    async claim(): Promise<LaneClaim> {
      const [claim] = await claimDeliveries(pool, {
        lanes: [{ endpointId, readyFrom: from, leasedFrom: from, safeFrom: from, rewound: 0 }],
        limit: rowsPerClaim,
        perLane: rowsPerClaim,
        graceMs: 15_000,
        dispatcherId,
      })
      if (claim === undefined) throw new Error('the lane could not be claimed from')
      if (claim.nextReady > from) from = claim.nextReady
      return claim
    },
    async settle(leases: readonly Lease[], end: Pick<Settlement, 'outcome' | 'state'> & { waitMs?: number }) {
      if (leases.length === 0) return
      await settleDeliveries(
        pool,
        leases.map((lease) => settlementOf(lease, end)),
      )
    },
  }
}

function settlementOf(lease: Lease, end: Pick<Settlement, 'outcome' | 'state'> & { waitMs?: number }): Settlement {
  return {
    eventId: lease.eventId,
    endpointId: lease.endpointId,
    ticket: lease.ticket,
    number: lease.number,
    step: lease.step,
    head: lease.head,
    attemptId: uuidV7(),
    reason: null,
    fresh: false,
    waitMs: 0,
    startedAt: new Date(),
    durationMs: 1,
    status: 200,
    error: null,
    url: 'http://127.0.0.1/',
    signature: null,
    userAgent: null,
    headerNames: [],
    responseHeaders: null,
    responseBody: null,
    truncated: false,
    health: 'unknown',
    watched: false,
    probe: false,
    laneWaitMs: 0,
    gone: false,
    ...end,
  }
}
