import { setTimeout as sleep } from 'node:timers/promises'
import { createLog, uuidV7 } from '@posthorn/core'
import { createPool } from '@posthorn/core/db'
import {
  beatDispatcher,
  claimDeliveries,
  type Lease,
  outcomeCode,
  registerDispatcher,
  type Settlement,
  settleDeliveries,
  stateCode,
} from '@posthorn/core/sql'
import { createClaimMode } from '../../../apps/dispatcher/src/claim-mode.ts'
import { createLaneBook } from '../../../apps/dispatcher/src/lane-book.ts'
import { createMarks } from '../../../apps/dispatcher/src/marks.ts'
import { defaultTiming } from '../../../apps/dispatcher/src/timing.ts'
import { startSweep } from '../../../apps/dispatcher/src/upkeep/sweep.ts'
import { serve } from './serve.ts'

/*
 * A dispatcher that makes no requests: it claims and settles with the product's own statements, watermarks and lane book, and
 * each delivery succeeds at once. What it writes of an attempt is what a receiver that answers "ok" leaves behind.
 */
const lanesPerClaim = 64
const rowsPerClaim = 200
/** Batches being settled while others are claimed. */
const settlesAtOnce = 2
const beatMs = 1_000

export type ClaimLoad = { databaseUrl: string; measureMs: number }

export type ClaimResult = {
  /** Deliveries claimed and settled, in each whole second. */
  perSecond: number[]
  claimMs: number[]
  settleMs: number[]
}

const responseHeaders = '[["content-type","text/plain"],["content-length","2"]]'
const responseBody = Buffer.from('ok')
const signature = `v1,${'x'.repeat(44)}`

function succeeded(lease: Lease): Settlement {
  return {
    eventId: lease.eventId,
    endpointId: lease.endpointId,
    ticket: lease.ticket,
    attemptId: uuidV7(),
    number: lease.number,
    outcome: outcomeCode.succeeded,
    state: stateCode.succeeded,
    reason: null,
    step: lease.step,
    fresh: false,
    waitMs: 0,
    startedAt: new Date(),
    durationMs: 12,
    status: 200,
    error: null,
    url: 'http://127.0.0.1:9/',
    signature,
    userAgent: 'Posthorn/0.1.0',
    headerNames: [],
    responseHeaders,
    responseBody,
    truncated: false,
    health: 'good',
    watched: lease.watched,
    probe: lease.probe,
    laneWaitMs: 0,
    gone: false,
    head: lease.head,
  }
}

const functions = {
  /** Claims and settles for so long, or until nothing is left. @throws when a claim or a settle fails */
  async run({ databaseUrl, measureMs }: ClaimLoad): Promise<ClaimResult> {
    const pool = createPool({
      connectionString: databaseUrl,
      max: 1 + settlesAtOnce + 2,
      applicationName: 'posthorn bench claims',
      onError: () => undefined,
    })
    const dispatcherId = await registerDispatcher(pool, 'bench', process.pid, '0')
    const marks = createMarks()
    const mode = createClaimMode()
    const book = createLaneBook({ random: Math.random, now: () => performance.now(), onQueued: () => undefined })
    const result: ClaimResult = { perSecond: [], claimMs: [], settleMs: [] }
    const settling = new Set<Promise<void>>()
    let fault: unknown = null
    const failed = (error: unknown): void => {
      fault ??= error
    }

    const beat = async (): Promise<void> => marks.add(await beatDispatcher(pool, dispatcherId))
    await beat()
    const beating = setInterval(() => void beat().catch(failed), beatMs)
    const sweep = startSweep({ pool, book, marks, timing: defaultTiming, log: createLog('warn') })
    while (book.queued() === 0) await sleep(1)

    const startedAt = performance.now()
    async function settle(leases: readonly Lease[]): Promise<void> {
      const from = performance.now()
      const { superseded } = await settleDeliveries(pool, leases.map(succeeded))
      const now = performance.now()
      if (superseded.length > 0) throw new Error(`${superseded.length} leases were lost`)
      result.settleMs.push(now - from)
      const second = Math.floor((now - startedAt) / 1_000)
      while (result.perSecond.length <= second) result.perSecond.push(0)
      result.perSecond[second]! += leases.length
      for (const id of new Set(leases.map((lease) => lease.endpointId))) book.offer(id, 'own')
    }

    while (performance.now() - startedAt < measureMs && fault === null) {
      while (settling.size >= settlesAtOnce) await Promise.race(settling)
      const way = mode.next()
      const aims = book.next(lanesPerClaim, way)
      if (aims.length === 0) {
        await sleep(1)
        continue
      }
      const mark = marks.safe()
      const newest = marks.newest()
      const from = performance.now()
      const lanes = await claimDeliveries(pool, {
        lanes: aims,
        limit: rowsPerClaim,
        perLane: rowsPerClaim,
        graceMs: 15_000,
        dispatcherId,
      })
      const tookMs = performance.now() - from
      mode.record(way, tookMs, aims.length)
      result.claimMs.push(tookMs)
      const answered = new Set<string>()
      for (const lane of lanes) {
        answered.add(lane.endpointId)
        book.report(lane, mark, newest, lane.limited)
      }
      for (const aim of aims) if (!answered.has(aim.endpointId)) book.miss(aim.endpointId)
      const leases = lanes.flatMap((lane) => lane.leases)
      if (leases.length === 0) continue
      const batch = settle(leases)
        .catch(failed)
        .finally(() => settling.delete(batch))
      settling.add(batch)
    }
    await Promise.all(settling)
    clearInterval(beating)
    await sweep.stop()
    book.stop()
    await pool.end()
    if (fault !== null) throw fault
    // The last second was cut off; one in which nothing was settled counts all the same.
    result.perSecond = Array.from({ length: Math.floor(measureMs / 1_000) }, (_, at) => result.perSecond[at] ?? 0)
    return result
  },
}
export type ClaimFunctions = typeof functions

serve(functions)
