import { createRequire } from 'node:module'
import { type Config, createVault, type Log } from '@posthorn/core'
import { createPool } from '@posthorn/core/db'
import type { Settlement, SettleResult } from '@posthorn/core/sql'
import { createBulkhead } from './bulkhead.ts'
import { startClaimer } from './claimer.ts'
import { startDoorbell } from './doorbell.ts'
import { createEndpointCache } from './endpoint-cache.ts'
import { startHeart } from './heart.ts'
import { createLaneBook } from './lane-book.ts'
import { createMarks } from './marks.ts'
import { createSender } from './sender/index.ts'
import { createSettler } from './settler.ts'
import { createBell } from './signal.ts'
import { defaultTiming, type Timing } from './timing.ts'
import { startDrain } from './upkeep/drain.ts'
import { startExpire, startExpireOrdered } from './upkeep/expire.ts'
import { startKeys, startPartitions, startVacuum } from './upkeep/housekeeping.ts'
import { startJobs } from './upkeep/jobs.ts'
import { startLookout } from './upkeep/lookout.ts'
import { startPromote } from './upkeep/promote.ts'
import { startReclaim } from './upkeep/reclaim.ts'
import { startReorder } from './upkeep/reorder.ts'
import { startSweep } from './upkeep/sweep.ts'
import { createWatchList } from './watch-list.ts'

export type Dispatcher = {
  /** Whether its heartbeat is answered, so that what it leases may be acted on. */
  alive(): boolean
  /** Attempts in flight and settlements not yet written. */
  busy(): { inFlight: number; unsettled: number }
  /**
   * Claims no more, finishes what is in flight within a limit, gives back what was not sent, settles all. Idempotent;
   * resolves when all is quiet and every connection is closed.
   */
  stop(): Promise<void>
}

export type DispatcherOptions = {
  config: Pick<
    Config,
    | 'allowedTargets'
    | 'concurrency'
    | 'disableAfterMs'
    | 'egressProxy'
    | 'encryptionKey'
    | 'encryptionKeyPrevious'
    | 'listenUrl'
    | 'maxAgeMs'
    | 'retentionMs'
    | 'retryScheduleSeconds'
  >
  databaseUrl: string
  log: Log
  timing?: Partial<Timing>
}

const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
const settleGatherMs = 5
const settleFlushMs = 10_000

/** Starts claiming, sending, settling and the upkeep. Resolves once the dispatcher is registered. */
export async function startDispatcher(options: DispatcherOptions): Promise<Dispatcher> {
  const { config, databaseUrl, log } = options
  const timing: Timing = { ...defaultTiming, ...options.timing }
  const userAgent = `Posthorn/${version}`
  const onError = (error: Error): void => log.warn({ err: error }, 'an idle database connection was lost')
  const poolOf = (max: number, name: string, rest: { statementTimeoutMs?: number; indexesOnly?: boolean } = {}) =>
    createPool({
      connectionString: databaseUrl,
      max,
      applicationName: `posthorn dispatcher ${name}`,
      onError,
      ...rest,
    })
  const pool = poolOf(6, 'work')
  const heartPool = poolOf(1, 'heart', { statementTimeoutMs: 4_000 })
  const upkeepPool = poolOf(2, 'upkeep', { indexesOnly: true })
  const jobsPool = poolOf(1, 'jobs', { indexesOnly: true })

  const bell = createBell()
  const marks = createMarks()
  const book = createLaneBook({ random: Math.random, now: () => performance.now(), onQueued: bell.ring })
  const vault = createVault(config.encryptionKey!, config.encryptionKeyPrevious)
  const sender = createSender({
    allowedTargets: config.allowedTargets,
    egressProxy: config.egressProxy,
    userAgent,
    log,
  })

  let abort = (): void => {}
  const heart = await startHeart({
    pool: heartPool,
    marks,
    timing,
    version,
    log,
    onLost: () => abort(),
    onBack: bell.ring,
  }).catch(async (error: unknown) => {
    await Promise.all([...[pool, heartPool, upkeepPool, jobsPool].map((each) => each.end()), sender.stop()])
    throw error
  })

  function onSettled(items: readonly Settlement[], result: SettleResult): void {
    claimer.settled(items)
    let dueMs = Number.POSITIVE_INFINITY
    for (const item of items) {
      if (item.state === 0) book.offer(item.endpointId, 'doorbell')
      else book.offer(item.endpointId, 'own')
      if (item.state === 2) dueMs = Math.min(dueMs, item.waitMs)
    }
    for (const lane of result.blocked) book.block(lane.endpointId, lane.ms + 10)
    for (const id of result.rung) book.offer(id, 'doorbell')
    if (dueMs < timing.lookoutMs) setTimeout(promote.hurry, dueMs)
    bell.ring()
  }

  const settler = createSettler({
    pool,
    log,
    gatherMs: settleGatherMs,
    isFull: book.isFull,
    disableAfterMs: config.disableAfterMs,
    onSettled,
  })
  const claimer = startClaimer({
    pool,
    book,
    bell,
    marks,
    heart,
    endpoints: createEndpointCache({ pool, vault, log }),
    settler,
    flight: {
      sender,
      userAgent,
      defaultSchedule: config.retryScheduleSeconds,
      maxAgeMs: config.maxAgeMs,
      random: Math.random,
      log,
    },
    bulkhead: createBulkhead({ concurrency: config.concurrency, now: () => performance.now() }),
    watchList: createWatchList(),
    timing,
    concurrency: config.concurrency,
    log,
  })
  abort = claimer.abort

  const upkeep = { pool: upkeepPool, book, marks, timing, log }
  const sweep = startSweep(upkeep)
  const promote = startPromote(upkeep)
  const told = {
    promote,
    reclaim: startReclaim({
      ...upkeep,
      low: () => lookout.low(),
      defaultSteps: config.retryScheduleSeconds.length,
    }),
    drain: startDrain(upkeep),
    reorder: startReorder(upkeep),
    jobs: startJobs({ ...upkeep, pool: jobsPool, retentionMs: config.retentionMs }),
  }
  const lookout = startLookout({ ...upkeep, told })
  const loops = [
    sweep,
    lookout,
    ...Object.values(told),
    startExpire({ ...upkeep, maxAgeMs: config.maxAgeMs }),
    startExpireOrdered({ ...upkeep, maxAgeMs: config.maxAgeMs }),
    startPartitions({ ...upkeep, url: databaseUrl, retentionMs: config.retentionMs }),
    startVacuum({ ...upkeep, url: databaseUrl }),
    startKeys(upkeep),
  ]
  const listenUrl = config.listenUrl ?? databaseUrl
  const doorbell =
    listenUrl === 'off'
      ? null
      : startDoorbell({
          url: listenUrl,
          log,
          onRing: (ids) => {
            for (const id of ids) book.offer(id, 'doorbell')
          },
          onListening: sweep.hurry,
        })

  let stopping: Promise<void> | null = null
  return {
    alive: heart.alive,
    busy: () => ({ inFlight: claimer.inFlight(), unsettled: settler.pending() }),
    stop() {
      stopping ??= (async () => {
        await Promise.all([doorbell?.stop(), ...loops.map((loop) => loop.stop()), claimer.stop(timing.stopMs)])
        const left = await settler.flush(settleFlushMs)
        if (left > 0)
          log.error({ settlements: left }, 'some attempts could not be settled; their leases will be reclaimed')
        book.stop()
        await heart.stop()
        await Promise.all([sender.stop(), ...[pool, heartPool, upkeepPool, jobsPool].map((each) => each.end())])
      })()
      return stopping
    },
  }
}
