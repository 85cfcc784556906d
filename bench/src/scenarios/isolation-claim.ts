import type { Pool } from '@posthorn/core/db'
import { registerDispatcher } from '@posthorn/core/sql'
import type pg from 'pg'
import { median, sum } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { lanesPerClaim, openClaimPool, sweepAll, timeClaim } from '../stage/claim.ts'
import { connectObserver } from '../stage/database.ts'
import { type Seeded, seedBacklog, seedEndpoints } from '../stage/seed.ts'

const openLanes = 256
const waitingEach = 100
const blockedLanes = 10_000
const blockedEach = 5
const claimsPerPhase = 150

const phases = ['none', 'blocked', 'none', 'blocked', 'none'] as const
type Kind = (typeof phases)[number]

type Sample = {
  claimMs: number[]
  /** Claims that were asked for as many blocked lanes besides, as a dispatcher asks that has not heard of the block. */
  mixedMs: number[]
  /** One whole sweep. */
  sweepMs: number
}

export const claimBlocked: Scenario = {
  name: 'claim-blocked',
  what: 'the time of a claim from 64 of 256 lanes, while 10,000 blocked lanes have deliveries waiting, against none',
  unit: 'ms',
  yardstick: 'without blocked lanes',
  targets: [{ metric: 'ratio', is: 'below', value: 1.3, label: '1.3 of without' }],
  byDefault: true,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const pool = openClaimPool(stage)
    const dispatcherId = await registerDispatcher(pool, 'bench', process.pid, '0')
    const lanes = (count: number, name: string) =>
      Array.from({ length: count }, (_, n) => ({ tenant: `${name}${n % 100}`, url: 'http://127.0.0.1:9/' }))
    const open = await seedEndpoints(observer, { endpoints: lanes(openLanes, 'open'), maxInFlight: 1_000 })
    await seedBacklog(observer, open, openLanes * waitingEach)

    const samples: { kind: Kind; sample: Sample }[] = []
    await measure(pool, dispatcherId, open, [])
    for (const kind of phases) {
      const blocked =
        kind === 'none' ? [] : await seedEndpoints(observer, { endpoints: lanes(blockedLanes, 'blocked') })
      if (kind === 'blocked') {
        await observer.query(
          `update posthorn.lane l set blocked_until = now() + interval '1 hour', probing = true, breaker_trips = 9
           where l.endpoint_id = any($1::uuid[])`,
          [blocked.map(({ id }) => id)],
        )
        await seedBacklog(observer, blocked, blockedLanes * blockedEach)
      }
      await observer.query('vacuum analyze posthorn.delivery, posthorn.lane')
      stage.say(`${kind === 'none' ? 'without' : 'with'} blocked lanes`)
      samples.push({ kind, sample: await measure(pool, dispatcherId, open, blocked) })
      await remove(observer, blocked)
    }

    const of = (kind: Kind) => samples.flatMap((each) => (each.kind === kind ? [each.sample] : []))
    const claimMs = (kind: Kind): number => median(of(kind).flatMap((sample) => sample.claimMs))
    const value = claimMs('blocked')
    return {
      value,
      ratio: value / claimMs('none'),
      metrics: {},
      details: {
        blocked_lanes: blockedLanes,
        deliveries_each: blockedEach,
        claim_ms_without: claimMs('none'),
        claim_ms_with: value,
        claim_ms_by_phase: samples.map(({ sample }) => median(sample.claimMs).toFixed(1)).join(' '),
        claim_ms_with_64_blocked_lanes_in_it: median(of('blocked').flatMap((sample) => sample.mixedMs)),
        whole_sweep_ms_without: median(of('none').map((sample) => sample.sweepMs)),
        whole_sweep_ms_with: median(of('blocked').map((sample) => sample.sweepMs)),
      },
    }
  },
}

/** Claims from lanes that the sweep has found open; what was claimed is given back at once, so that as much waits each time. */
async function measure(
  pool: Pool,
  dispatcherId: number,
  open: readonly Seeded[],
  blocked: readonly Seeded[],
): Promise<Sample> {
  const { open: found, stepMs } = await sweepAll(pool)
  if (found.length !== open.length) throw new Error(`the sweep found ${found.length} open lanes of ${open.length}`)

  const sample: Sample = { claimMs: [], mixedMs: [], sweepMs: sum(stepMs) }
  for (let at = 0; at < claimsPerPhase; at++) {
    const from = (at * lanesPerClaim) % open.length
    const some = found.slice(from, from + lanesPerClaim)
    sample.claimMs.push(await timeClaim(pool, dispatcherId, some))
    if (blocked.length === 0 || at % 4 !== 0) continue
    const others = blocked.slice(from * 16, from * 16 + lanesPerClaim).map(({ id }) => id)
    sample.mixedMs.push(await timeClaim(pool, dispatcherId, [...others, ...some]))
  }
  return sample
}

async function remove(observer: pg.Client, endpoints: readonly Seeded[]): Promise<void> {
  if (endpoints.length === 0) return
  const ids = endpoints.map(({ id }) => id)
  for (const table of ['delivery', 'lane', 'endpoint_secret']) {
    await observer.query(`delete from posthorn.${table} x where x.endpoint_id = any($1::uuid[])`, [ids])
  }
  await observer.query('delete from posthorn.endpoint e where e.id = any($1::uuid[])', [ids])
}
