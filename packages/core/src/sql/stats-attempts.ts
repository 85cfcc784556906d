import type { Pool } from '../db/pool.ts'
import { before, idBounds, uuidTime } from './event-bounds.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'
import { beginOrdered } from './stats-begin.ts'

/** What one answer may cost, however busy the tenant is: events looked at, and the time after which no more are. */
const maxEvents = 40_000
const eventsAtOnce = 10_000
const budgetMs = 500

const dayMs = 86_400_000
const aheadMs = 60_000

export type AttemptStatsQuery = {
  tenantId: string
  endpointId: string
  /** Inclusive, on the attempts' starts. */
  since: Date
  /** Exclusive; null is no end. */
  until: Date | null
  /** Older events are gone. */
  oldest: Date
}

export type AttemptStats = {
  /** From when on all attempts were looked at: later than asked for when the tenant has too many events. */
  since: Date
  succeeded: number
  failed: number
  leaseLost: number
  /** How many answered or failed attempts took so many milliseconds. */
  durations: Map<number, number>
}

// Attempts are found by their key, under the tenant's own events: no index by endpoint and time is paid for at each attempt.
// The tenant is bounded by pairs instead of being equal, and the order names it: only the tenants' own index has that order.
// Where the planner believes that there is one tenant, it would walk all tenants' events by their key else. The bounds stand once
// more by themselves, and at the attempts too, so that other days' partitions are left out before the walk begins.
//   $1 tenant · $2 endpoint · $3, $4 lowest and highest event · $5 events at most · $6, $7 started from, before
// Answers the counts by outcome and duration, and one row (outcome 0) of how many events there were, and which is the last.
const countAttempts = `
with looked as materialized (
  select e.id from posthorn.event e
  where (e.tenant_id, e.id) >= ($1, $3::uuid) and (e.tenant_id, e.id) <= ($1, $4::uuid) and e.id >= $3::uuid and e.id <= $4::uuid
  order by e.tenant_id desc, e.id desc limit $5
)
select 0 as "outcome", null::integer as "ms", count(*)::integer as "n", (select x.id from looked x order by x.id limit 1) as "last"
from looked l
union all
select a.outcome, a.duration_ms, count(*)::integer, null
from looked l cross join lateral (
  select t.outcome, t.duration_ms from posthorn.attempt t
  where t.event_id = l.id and t.endpoint_id = $2 and t.event_id >= $3::uuid and t.event_id <= $4::uuid
    and t.outcome in (1, 2, 3) and t.started_at >= $6::timestamptz and t.started_at < $7::timestamptz
  offset 0
) a
group by a.outcome, a.duration_ms`

type Row = { outcome: number; ms: number | null; n: number; last: string | null }

/**
 * Counts an endpoint's attempts that started in a time. Newest events first, those from before the time too, for they may have
 * been tried again in it; ends with the tenant's events, or at a bound.
 *
 * Each step keeps to one day while there are many events: with the partitions of all days at hand, finding the right one for
 * each event costs as much as reading the attempt.
 */
export async function countEndpointAttempts(pool: Pool, query: AttemptStatsQuery): Promise<AttemptStats> {
  const { tenantId, endpointId, since, until, oldest } = query
  const begun = performance.now()
  const stats: AttemptStats = { since, succeeded: 0, failed: 0, leaseLost: 0, durations: new Map() }
  // Clocks differ a little: by its dispatcher's an attempt may have begun before its event was published.
  const bounds = idBounds({ since: oldest, until: new Date((until?.getTime() ?? Date.now()) + aheadMs) })
  let { high } = bounds
  let days = 1
  for (let looked = 0; ; ) {
    const low = higher(bounds.low, daysBefore(high, days))
    const values = [tenantId, endpointId, low, high, eventsAtOnce, since, until ?? 'infinity']
    const { rows } = await pipelinedTransaction(pool, beginOrdered, (client) =>
      client.query<Row>({ name: 'stats-attempts', text: countAttempts, values }),
    )
    const walk = rows.find((row) => row.outcome === 0)!
    for (const row of rows) if (row !== walk) add(stats, row)
    looked += walk.n
    const whole = walk.n < eventsAtOnce
    if (whole && low === bounds.low) return stats
    const reached = whole ? low : walk.last!
    if (looked >= maxEvents || performance.now() - begun > budgetMs) {
      const reachedAt = uuidTime(reached)
      return reachedAt > since ? { ...stats, since: reachedAt } : stats
    }
    high = before(reached)
    days = whole ? days * 2 : 1
  }
}

/** The lowest id of the day of this one, or of so many days with it. */
function daysBefore(id: string, days: number): string {
  const day = Math.floor(uuidTime(id).getTime() / dayMs) - (days - 1)
  return idBounds({ since: new Date(day * dayMs) }).low
}

function higher(a: string, b: string): string {
  return a > b ? a : b
}

function add(stats: AttemptStats, { outcome, ms, n }: Row): void {
  if (outcome === 1) stats.succeeded += n
  else if (outcome === 2) stats.failed += n
  else stats.leaseLost += n
  if (outcome !== 3 && ms !== null) stats.durations.set(ms, (stats.durations.get(ms) ?? 0) + n)
}
