import type { Pool } from '@posthorn/core/db'
import { registerDispatcher } from '@posthorn/core/sql'
import { describeLatency } from '../measure/latencies.ts'
import { type Receiver, startReceiver } from '../measure/raw-posts.ts'
import { median } from '../measure/statistics.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { lanesPerClaim, openClaimPool, timeClaim } from '../stage/claim.ts'
import { connectObserver } from '../stage/database.ts'
import { seedTenants, startPublishing } from '../stage/publishing.ts'
import { type Seeded, seedEndpoints, seedWaiting, setPaused } from '../stage/seed.ts'

const fewWaiting = 10_000
/** Claims are timed with this many waiting too, where that is less than all. */
const stepsWaiting = [100_000, 1_000_000]
const lanes = 1_000
const idleEndpoints = 20
const eventsPerSecond = 100
const claimsPerPhase = 150

export const backlog: Scenario = {
  name: 'backlog',
  what: 'claims, and publish to receipt at idle endpoints, while forty times --deliveries wait elsewhere, against 10,000',
  unit: 'claims/s',
  yardstick: 'with 10,000 waiting',
  targets: [
    { metric: 'ratio', is: 'least', value: 0.8, label: '0.8 of that with 10,000' },
    { metric: 'latency_ratio', is: 'below', value: 1.3, label: 'p50 1.3 times' },
  ],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const pool = openClaimPool(stage)
    const dispatcherId = await registerDispatcher(pool, 'bench', process.pid, '0')
    const many = stage.options.deliveries * 40
    const claimsBy: { waiting: number; claim_ms: number; claims_per_s: number }[] = []
    const waiting = await seedEndpoints(observer, {
      endpoints: Array.from({ length: lanes }, (_, n) => ({ tenant: `w${n}`, url: 'http://127.0.0.1:9/' })),
    })
    const idle = await seedTenants(observer, receiver, idleEndpoints)
    // Paused while a dispatcher runs, so that as much waits all the time.
    const pause = (paused: boolean) => setPaused(observer, waiting, paused)

    let owed = 0
    async function owe(count: number): Promise<number> {
      stage.say(`owing ${count}`)
      await seedWaiting(observer, waiting, count - owed)
      owed = count
      await pause(false)
      stage.say('claims')
      const claimMs = await measureClaims(pool, dispatcherId, waiting)
      await pause(true)
      claimsBy.push({ waiting: count, claim_ms: claimMs, claims_per_s: 1_000 / claimMs })
      return claimMs
    }
    async function measure(count: number) {
      const claimMs = await owe(count)
      stage.say('publish to receipt at idle endpoints')
      return { claimMs, latency: await measureLatency(stage, receiver, idle) }
    }

    const few = await measure(fewWaiting)
    for (const count of stepsWaiting) if (count < many) await owe(count)
    const lots = await measure(many)
    const claimsPerSecond = 1_000 / lots.claimMs
    const metrics = {
      latency_ratio: lots.latency.p50_ms / few.latency.p50_ms,
      latency_p99_ratio: lots.latency.p99_ms / few.latency.p99_ms,
    }
    return {
      value: claimsPerSecond,
      ratio: few.claimMs / lots.claimMs,
      metrics,
      details: {
        waiting: many,
        endpoints: lanes,
        table_and_indexes_mib: await sizeMiB(),
        claims: claimsBy,
        ...metrics,
        few: few.latency,
        many: lots.latency,
      },
    }

    async function sizeMiB(): Promise<number> {
      const { rows } = await observer.query<{ bytes: string }>(
        `select pg_total_relation_size('posthorn.delivery') as bytes`,
      )
      return Number(rows[0]!.bytes) / 2 ** 20
    }

    async function measureLatency(stage: Stage, receiver: Receiver, tenants: readonly string[]) {
      const publishing = await startPublishing(stage, observer, receiver, tenants)
      await receiver.worker.call('reset', undefined, 10_000)
      const warm = await publishing.open(eventsPerSecond, 3_000)
      const sent = await publishing.open(eventsPerSecond, (stage.options.seconds ?? 10) * 1_000)
      const arrivedAt = await publishing.arrivalsOf(sent, warm.ids.length + sent.ids.length)
      await publishing.dispatcher.stop()
      await publishing.api.stop()
      return describeLatency(sent.intendedAt, arrivedAt)
    }
  },
}

/** The median of a claim's milliseconds. */
async function measureClaims(pool: Pool, dispatcherId: number, endpoints: readonly Seeded[]): Promise<number> {
  const claimMs: number[] = []
  for (let at = 0; at < claimsPerPhase; at++) {
    const from = (at * lanesPerClaim) % (endpoints.length - lanesPerClaim)
    const ids = endpoints.slice(from, from + lanesPerClaim).map(({ id }) => id)
    claimMs.push(await timeClaim(pool, dispatcherId, ids))
  }
  return median(claimMs.slice(claimsPerPhase / 5))
}
