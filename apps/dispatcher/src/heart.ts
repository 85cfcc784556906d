import { hostname } from 'node:os'
import type { Log } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import { beatDispatcher, registerDispatcher, unregisterDispatcher } from '@posthorn/core/sql'
import { type Loop, startLoop } from './loop.ts'
import type { Marks } from './marks.ts'
import type { Timing } from './timing.ts'

/**
 * The dispatcher's standing with the others.
 *
 *   alive ──no answer for abortAfterMs──► lost (attempts aborted, nothing claimed) ──answer──► alive, under a new id
 *
 * Others take a dispatcher's leases once its heartbeat is older than `silentMs`; `abortAfterMs` is less, and counted from
 * before the last heartbeat that was answered was sent, so that it has stopped by then.
 */
export type Heart = {
  /** Under which leases are taken now. */
  id(): number
  /** Whether leases taken may still be acted on. Checked on the monotonic clock, so that it is true after a stall too. */
  alive(): boolean
  /** Idempotent. Forgets the dispatcher in the database. */
  stop(): Promise<void>
}

export async function startHeart(deps: {
  /** Of its own, so that no other work is waited for. */
  pool: Pool
  marks: Marks
  timing: Timing
  version: string
  log: Log
  /** The standing is lost: called once each time. */
  onLost: () => void
  onBack: () => void
}): Promise<Heart> {
  const { pool, marks, timing, log } = deps
  const register = (): Promise<number> => registerDispatcher(pool, hostname(), process.pid, deps.version)
  let id = await register()
  let answeredAt = performance.now()
  let lost = false
  let stopped = false

  function alive(): boolean {
    if (lost) return false
    if (performance.now() - answeredAt < timing.abortAfterMs) return true
    lost = true
    log.error(
      { dispatcher: id },
      'no heartbeat was answered in time: attempts are aborted, their leases are left to others',
    )
    // After the event loop has read its sockets: an answer that came during a stall is logged as what it was.
    setImmediate(deps.onLost)
    return false
  }

  const watch = setInterval(alive, 250)
  const loop: Loop = startLoop({
    name: 'heartbeat',
    log,
    afterFaultMs: 250,
    async run() {
      const sentAt = performance.now()
      const beat = await beatDispatcher(pool, id)
      marks.add(beat)
      // A stall may have lasted longer than the answer shows: alive() decides first.
      if (!alive() || !beat.known) {
        // The old leases are reclaimed as those of a silent dispatcher; what is claimed from now on is not among them.
        id = await register()
        lost = false
        log.info({ dispatcher: id }, 'registered again')
        answeredAt = sentAt
        deps.onBack()
      }
      answeredAt = sentAt
      return timing.heartbeatMs
    },
  })

  return {
    id: () => id,
    alive,
    async stop() {
      if (stopped) return
      stopped = true
      clearInterval(watch)
      await loop.stop()
      await unregisterDispatcher(pool, id).catch((error: unknown) => {
        log.warn({ err: error }, 'the dispatcher could not sign off; its row is removed in an hour')
      })
    },
  }
}
