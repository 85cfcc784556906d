import { bigints, booleans, byteas, integers, smallints, texts, uuids } from '../db/binary-arrays.ts'
import { answersOf, inOneWrite, type Pool } from '../db/pool.ts'
import {
  type SettleColumn,
  settleAndTell,
  settleColumns,
  settleLeases,
  settleOrdered,
  settleOrderedAndTell,
} from './delivery-settle-statement.ts'
import { endedHeads, releaseNext } from './order-release.ts'
import { beginHotPrepared } from './planner-guards.ts'

const lockLanes = `
select endpoint_id from posthorn.lane where endpoint_id = any($1::uuid[]) order by endpoint_id for no key update`

/** The codes of `attempt.outcome`. */
export const outcomeCode = { none: 0, succeeded: 1, failed: 2, leaseLost: 3, superseded: 4 } as const

/** The codes of `attempt.state`, and of `delivery.state` where a row is kept. */
export const stateCode = { ready: 0, leased: 1, scheduled: 2, held: 3, succeeded: 4, failed: 5, canceled: 6 } as const

/** What became of one lease. Texts must hold no NUL and no lone surrogate: Postgres has no place for them. */
export type Settlement = {
  eventId: string
  endpointId: string
  ticket: string
  /** A UUIDv7 made once for the attempt: what is logged twice under it is one row. */
  attemptId: string
  number: number
  outcome: 0 | 1 | 2
  state: 0 | 2 | 4 | 5 | 6
  reason: string | null
  /** Position in the schedule from now on. */
  step: number
  /** The next attempt must go out on a new connection. */
  fresh: boolean
  /** Milliseconds until the next attempt; only for state 2. */
  waitMs: number
  startedAt: Date
  durationMs: number | null
  status: number | null
  error: { code: string; phase: string; message: string } | null
  url: string | null
  signature: string | null
  userAgent: string | null
  headerNames: readonly string[]
  /** JSON text: an array of [name, value]. */
  responseHeaders: string | null
  responseBody: Buffer | null
  truncated: boolean
  /** What the attempt says of its endpoint's health. Faults of ours say nothing. */
  health: 'good' | 'bad' | 'unknown'
  /** The lane has to hear of a success. It hears of every failure. */
  watched: boolean
  /** The lease was taken while the lane was probing. */
  probe: boolean
  /** Milliseconds for which the whole lane is to wait (Retry-After); 0 for none. */
  laneWaitMs: number
  /** The receiver answered 410. */
  gone: boolean
  /** See Lease. */
  head: boolean
}

export type SettleResult = {
  /** Leases that were no longer ours: nothing of them was changed. What the log had already (a settle sent again) is not. */
  superseded: { eventId: string; endpointId: string; ticket: string }[]
  /** Lanes that are blocked now, and for how many milliseconds. */
  blocked: { endpointId: string; ms: number }[]
  /** Lanes that have new work now: operational events, and the next of an ordering key. */
  rung: string[]
}

export type SettleOptions = {
  /** A failure disables an endpoint for which nothing has succeeded for so many milliseconds. */
  disableAfterMs?: number
}

const defaultDisableAfterMs = 5 * 86_400_000

/** The batch, a column each; see SettleColumn. */
function toColumns(items: readonly Settlement[], told: ReadonlySet<string>): Record<SettleColumn, Buffer | null> {
  return {
    i: integers(items, (_, at) => at),
    e: uuids(items, (item) => item.eventId),
    p: uuids(items, (item) => item.endpointId),
    t: bigints(items, (item) => item.ticket),
    id: uuids(items, (item) => item.attemptId),
    n: integers(items, (item) => item.number),
    o: smallints(items, (item) => item.outcome),
    s: smallints(items, (item) => item.state),
    reason: texts(items, (item) => item.reason),
    step: smallints(items, (item) => item.step),
    fresh: booleans(items, (item) => item.fresh || null),
    wait_ms: bigints(items, (item) => Math.round(item.waitMs)),
    started: bigints(items, (item) => item.startedAt.getTime()),
    ms: integers(items, (item) => (item.durationMs === null ? null : Math.round(item.durationMs))),
    status: smallints(items, (item) => item.status),
    code: texts(items, (item) => item.error?.code),
    phase: texts(items, (item) => item.error?.phase),
    message: texts(items, (item) => item.error?.message),
    url: texts(items, (item) => item.url),
    sig: texts(items, (item) => item.signature),
    agent: texts(items, (item) => item.userAgent),
    names: texts(items, (item) => (item.headerNames.length > 0 ? item.headerNames.join(',') : null)),
    headers: texts(items, (item) => item.responseHeaders),
    body: byteas(items, (item) => (item.responseBody?.length ? item.responseBody : null)),
    cut: booleans(items, (item) => item.truncated || null),
    lane_ms: bigints(items, (item) => (item.laneWaitMs > 0 ? Math.round(item.laneWaitMs) : null)),
    gone: booleans(items, (item) => item.gone || null),
    c: smallints(items, (item) =>
      item.health === 'bad' ? 2 : item.health === 'good' && told.has(item.endpointId) ? 1 : null,
    ),
    probe: booleans(items, (item) => item.probe || null),
  }
}

/**
 * Settles many leases in one statement and one round trip. Sending the same settlements again is harmless, so a settle
 * whose answer was lost is simply repeated.
 */
export async function settleDeliveries(
  pool: Pool,
  items: readonly Settlement[],
  { disableAfterMs = defaultDisableAfterMs }: SettleOptions = {},
): Promise<SettleResult> {
  // Where a head ends, the next of its key goes, under the lane's lock. It is taken last, for as short as can be; but where
  // other lanes are locked, with them, or two settles that lock some first and some last would deadlock.
  const heads = items.some((item) => item.head)
  // A success beside a failure of the same lane belongs to its tally, whether the lane was watched before or not.
  const told = new Set(items.filter(isTold).map((item) => item.endpointId))
  const columns = toColumns(items, told)
  const batch = settleColumns.map((name) => columns[name])
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const tells = told.size > 0 || items.some((item) => item.reason === 'exhausted')
    const locked = new Set(told)
    if (heads && told.size > 0) for (const item of items) if (item.head) locked.add(item.endpointId)
    const statement = heads ? (tells ? orderedAndTell : ordered) : tells ? andTell : leases
    const statements = inOneWrite(client, () => ({
      begun: beginHotPrepared(client),
      locked: locked.size > 0 ? client.query(lockLanes, [[...locked]]) : null,
      settled: client.query<SettledRow>({ ...statement, values: tells ? [...batch, disableAfterMs] : batch }),
      ended: heads ? null : client.query('commit'),
    }))
    await answersOf(Object.values(statements))
    const { rows } = await statements.settled
    const result = toResult(rows)
    if (heads) {
      const ended = endedHeads(rows)
      const last = inOneWrite(client, () => ({
        released: ended.length > 0 ? releaseNext(client, ended) : null,
        ended: client.query('commit'),
      }))
      await answersOf(Object.values(last))
      result.rung.push(...((await last.released) ?? []))
    }
    return result
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

function isTold(item: Settlement): boolean {
  return item.gone || item.laneWaitMs > 0 || item.health === 'bad' || (item.health === 'good' && item.watched)
}

const leases = { name: 'settle-leases', text: settleLeases }
const ordered = { name: 'settle-ordered', text: settleOrdered }
const andTell = { name: 'settle-and-tell', text: settleAndTell }
const orderedAndTell = { name: 'settle-ordered-and-tell', text: settleOrderedAndTell }

type SettledRow = {
  event_id: string | null
  endpoint_id: string
  ticket: string
  blocked_ms: string | null
  /** Of a head that has ended; not there in a batch without order. */
  order_key?: string | null
  place?: string | null
}

function toResult(rows: readonly SettledRow[]): SettleResult {
  const result: SettleResult = { superseded: [], blocked: [], rung: [] }
  for (const row of rows) {
    const endpointId = row.endpoint_id
    if (row.event_id !== null) result.superseded.push({ eventId: row.event_id, endpointId, ticket: row.ticket })
    else if (row.order_key != null) continue
    else if (row.blocked_ms !== null) result.blocked.push({ endpointId, ms: Number(row.blocked_ms) })
    else result.rung.push(endpointId)
  }
  return result
}
