import type { Log } from '@posthorn/core'
import { isDatabaseUnavailable, type Pool } from '@posthorn/core/db'
import {
  claimDeliveries,
  type EventToSend,
  giveBackDeliveries,
  giveBackUnheldDeliveries,
  type Lease,
  mostBytesWithClaim,
  readEventsToSend,
  type Settlement,
} from '@posthorn/core/sql'
import pRetry from 'p-retry'
import type { Bulkhead } from './bulkhead.ts'
import { createByteBudget } from './byte-budget.ts'
import { createClaimMode } from './claim-mode.ts'
import type { createEndpointCache } from './endpoint-cache.ts'
import { attempt, expire, type FlightDeps } from './flight.ts'
import type { Heart } from './heart.ts'
import type { LaneBook } from './lane-book.ts'
import { deliveryName } from './log-names.ts'
import type { Marks } from './marks.ts'
import { readPayloads, type Unread } from './payload-reader.ts'
import type { Settler } from './settler.ts'
import type { Bell } from './signal.ts'
import type { Timing } from './timing.ts'
import type { WatchList } from './watch-list.ts'

export type ClaimerDeps = {
  pool: Pool
  book: LaneBook
  bell: Bell
  marks: Marks
  heart: Heart
  endpoints: ReturnType<typeof createEndpointCache>
  settler: Settler
  flight: FlightDeps
  bulkhead: Bulkhead
  watchList: WatchList
  timing: Timing
  /** Attempts in flight at most. */
  concurrency: number
  log: Log
}

/** Claims while there is room, and flies what it has claimed. */
export type Claimer = {
  inFlight(): number
  /** These leases are settled. */
  settled(tickets: readonly { ticket: string }[]): void
  /** Aborts all attempts in flight: the leases are no longer ours to act on. */
  abort(): void
  /**
   * Claims no more; gives back what was not sent; waits for what is in flight, and after `ms` aborts it. Idempotent.
   * Resolves when nothing is in flight.
   */
  stop(ms: number): Promise<void>
}

const lanesPerClaim = 64
/** A claim costs 3 ms and 15 us a row. */
const rowsPerClaim = 400
/** Side by side, each from lanes of its own, where there is room for large ones: while one commits, the other works. */
const claimsAtOnce = 2
const roomForAnother = 200
/** Of payloads that a claim reads, under the locks of its lanes. */
const maxBytesPerClaim = 1024 * 1024
/** Of payloads in flight: of small ones, if all slots are taken by them, and of large ones. */
const maxSmallBytes = 16 * 1024 * 1024
const maxLargeBytes = 24 * 1024 * 1024

export function startClaimer(deps: ClaimerDeps): Claimer {
  const { pool, book, bell, marks, heart, settler, bulkhead, watchList, timing, concurrency, log } = deps
  const mode = createClaimMode()
  /** Fewer free slots make small claims, and those cost as much as large ones. */
  const enough = Math.max(1, Math.min(100, concurrency >> 2))
  const bytes = createByteBudget({
    max: maxLargeBytes,
    small: Math.min(mostBytesWithClaim, Math.floor(maxSmallBytes / concurrency)),
    trusts: bulkhead.trusts,
  })
  let inFlight = 0
  /** Slots that claims under way may fill. */
  let reserved = 0
  const claims = new Set<Promise<void>>()
  /** After a failed claim none is tried before this, on the clock of `performance.now()`. */
  let quietUntil = 0
  /** Tickets of the leases that are ours: from the claim's answer until they are settled or given back. */
  const held = new Set<string>()
  /** Ids under which a claim failed: it may have been committed all the same. */
  const doubtful = new Set<number>()
  let stopped = false
  let flying = new AbortController()
  let stopping: Promise<void> | null = null
  let onLanded: (() => void) | null = null

  /** Slots for attempts, while what came back is written; a settle that lags behind closes them. */
  const room = (): number => {
    const taken = inFlight + reserved
    return Math.min(concurrency - taken, concurrency * 4 - taken - settler.pending())
  }

  function landed(count: number): void {
    inFlight -= count
    if (room() >= enough) bell.ring()
    if (inFlight === 0) onLanded?.()
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const quietMs = quietUntil - performance.now()
      if (!heart.alive() || quietMs > 0 || !mayClaim()) {
        await bell.wait(heart.alive() ? (quietMs > 0 ? quietMs : null) : 250)
        continue
      }
      if (doubtful.size > 0) await giveBackUnheld()
      startClaim()
    }
    await Promise.all(claims)
  }

  /** With few attempts in flight, and few lanes that wait, latency counts, and a lane need not wait for another's claim. */
  const calm = (): boolean => inFlight <= concurrency >> 2 && book.queued() < lanesPerClaim

  function mayClaim(): boolean {
    const free = room()
    if (book.queued() === 0 || free < 1 || (free < enough && inFlight + reserved > 0)) return false
    if (claims.size === 0) return true
    return claims.size < claimsAtOnce && (free >= roomForAnother || calm()) && doubtful.size === 0
  }

  function startClaim(): void {
    const free = room()
    // The first one leaves slots for another.
    const limit = Math.min(calm() && claims.size === 0 ? (free + 1) >> 1 : free, rowsPerClaim)
    reserved += limit
    const claiming = claim(limit).then(() => {
      reserved -= limit
      claims.delete(claiming)
      bell.ring()
    })
    claims.add(claiming)
  }

  /** While no claim is under way, so that what is not held was never answered. Never rejects. */
  async function giveBackUnheld(): Promise<void> {
    try {
      const lanes = await giveBackUnheldDeliveries(pool, [...doubtful], [...held])
      doubtful.clear()
      if (lanes.length === 0) return
      log.warn({ leases: lanes.length }, 'a claim was committed though its answer was lost; its leases are given back')
      for (const id of new Set(lanes)) book.offer(id, 'doorbell')
    } catch (error) {
      // Tried again before the next claim, which is likely to fail by the same cause.
      log.warn({ err: error }, 'leases of a claim whose answer was lost could not be looked for')
    }
  }

  /** Never rejects. */
  async function claim(limit: number): Promise<void> {
    const way = mode.next()
    const tried = book.next(lanesPerClaim, way)
    const { aims: allotted, end } = bulkhead.allot(tried, limit)
    const aims = bytes.cut(allotted)
    if (aims.length < tried.length) {
      const open = new Set(aims.map((aim) => aim.endpointId))
      for (const aim of tried) if (!open.has(aim.endpointId)) book.defer(aim.endpointId)
    }
    // Before the claim's snapshot: what is safe now holds for what it sees.
    const mark = marks.safe()
    const newest = marks.newest()
    const startedAt = performance.now()
    const dispatcherId = heart.id()
    try {
      if (aims.length === 0) return
      const claimed = await claimDeliveries(pool, {
        lanes: aims,
        limit,
        perLane: limit,
        graceMs: timing.graceMs,
        dispatcherId,
        payloadBytes: maxBytesPerClaim,
      })
      mode.record(way, performance.now() - startedAt, aims.length)
      const leases = claimed.flatMap((lane) => lane.leases)
      for (const lease of leases) {
        held.add(lease.ticket)
        bulkhead.take(lease.endpointId, lease.ticket)
      }
      const answered = new Set<string>()
      for (const lane of claimed) {
        answered.add(lane.endpointId)
        watchList.read(lane.endpointId, lane.watched)
        // A limited lane that has no token is not polled.
        if (lane.nextMs > 0) book.hold(lane.endpointId, lane.nextMs)
        book.report(lane, mark, newest, lane.limited)
      }
      for (const aim of aims) if (!answered.has(aim.endpointId)) book.miss(aim.endpointId)
      if (leases.length > 0) {
        inFlight += leases.length
        void fly(leases, startedAt)
      }
    } catch (error) {
      doubtful.add(dispatcherId)
      book.restore(aims)
      log.warn({ err: error }, 'a claim failed, and is tried again')
      quietUntil = performance.now() + (isDatabaseUnavailable(error) ? 500 : 1_000)
    } finally {
      end()
    }
  }

  /** Never rejects. */
  async function fly(leases: readonly Lease[], claimedAt: number): Promise<void> {
    const signal = flying.signal
    const halted = (): boolean => stopped || signal.aborted || !heart.alive()
    /** Those that are neither sent nor ended. */
    const unsent = new Set(leases)
    try {
      const versions = new Map<string, number>()
      const uses = new Map<string, number>()
      for (const lease of leases) {
        versions.set(lease.endpointId, Math.max(lease.version, versions.get(lease.endpointId) ?? 0))
        uses.set(lease.eventId, (uses.get(lease.eventId) ?? 0) + 1)
      }
      // Of a payload that several deliveries share, each has a part.
      const partOf = (lease: Lease): number => Math.ceil((lease.bytes ?? 0) / uses.get(lease.eventId)!)
      for (const lease of leases) bytes.learn(lease.endpointId, partOf(lease))
      const profiles = await retried(() => deps.endpoints.load(versions))

      /** Sends what is in memory, and frees its part once it is not. With no event the payload is gone. */
      const take = ({ lease, part }: Pick<Unread, 'lease' | 'part'>, event: EventToSend | undefined): void => {
        const profile = profiles.get(lease.endpointId)
        if (event === undefined) log.error({ delivery: deliveryName(lease) }, 'the payload of an owed event is gone')
        if (event === undefined || profile === undefined || halted()) {
          bytes.free(lease.endpointId, part)
          return
        }
        unsent.delete(lease)
        const end = (settlement: Settlement): void => {
          bytes.free(lease.endpointId, part)
          finish(settlement)
        }
        if (lease.ageMs > deps.flight.maxAgeMs) end(expire(lease))
        else void attempt({ lease, event, profile, claimedAt }, signal, deps.flight).then(end)
      }

      const unread: Unread[] = []
      for (const lease of leases) {
        const part = partOf(lease)
        if (lease.event === null && lease.bytes !== null) {
          unread.push({ lease, bytes: lease.bytes, part })
          continue
        }
        bytes.take(lease.endpointId, part)
        take({ lease, part }, lease.event ?? undefined)
      }
      await readPayloads(unread, {
        bytes,
        halted,
        read: (ids) => retried(() => readEventsToSend(pool, ids)),
        take,
      })
    } catch (error) {
      log.warn(
        { err: error, leases: leases.length },
        'what claimed deliveries need could not be read; they are given back',
      )
    }
    if (unsent.size === 0) return
    await giveBack([...unsent])
    landed(unsent.size)
  }

  function finish(settlement: Settlement): void {
    const { endpointId, health } = settlement
    bulkhead.land(endpointId, settlement.ticket, health)
    if (health === 'bad') watchList.failed(endpointId)
    settlement.watched ||= watchList.has(endpointId)
    settler.add(settlement)
    landed(1)
  }

  const retried = <T>(read: () => Promise<T>): Promise<T> =>
    pRetry(read, { retries: 3, minTimeout: 100, shouldRetry: ({ error }) => isDatabaseUnavailable(error) })

  /** Never rejects: leases that cannot be given back end by themselves. */
  async function giveBack(leases: readonly Lease[]): Promise<void> {
    try {
      await pRetry(() => giveBackDeliveries(pool, leases), {
        retries: stopped ? 5 : 30,
        minTimeout: 100,
        maxTimeout: 1_000,
        shouldRetry: ({ error }) => isDatabaseUnavailable(error),
      })
      // Not at once: what kept them from being sent may last.
      for (const id of new Set(leases.map((lease) => lease.endpointId))) book.hold(id, 1_000)
    } catch (error) {
      log.warn({ err: error, leases: leases.length }, 'leases could not be given back; they end by themselves')
    }
    for (const lease of leases) {
      held.delete(lease.ticket)
      bulkhead.land(lease.endpointId, lease.ticket, 'unknown')
    }
  }

  const running = run()

  return {
    inFlight: () => inFlight,
    settled(tickets) {
      for (const { ticket } of tickets) held.delete(ticket)
    },
    abort() {
      flying.abort()
      flying = new AbortController()
    },
    stop(ms) {
      stopping ??= (async () => {
        stopped = true
        bell.ring()
        await running
        if (inFlight === 0) return
        const allLanded = new Promise<void>((resolve) => {
          onLanded = resolve
        })
        const limit = setTimeout(() => {
          log.warn({ attempts: inFlight }, 'attempts in flight are aborted: the time for stopping is up')
          flying.abort()
        }, ms)
        await allLanded
        clearTimeout(limit)
      })()
      return stopping
    },
  }
}
