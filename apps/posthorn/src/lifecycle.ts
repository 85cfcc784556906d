import type { Log } from '@posthorn/core'
import { StartFailure } from './start-failure.ts'

/**
 * One process's life:
 *
 *   starting ──ready──► running ──a signal, or a failure──► stopping ──all released──► ended
 *
 * A stop may be asked for while it still starts: what was acquired by then is released, and nothing more is acquired.
 */
export type Lifecycle = {
  /** Aborted once a stop is asked for. */
  stopping: AbortSignal
  /** Resolves once a stop is asked for. */
  stopped: Promise<void>
  /** Asks for a stop. Only the first call counts. @param failure why, when it is not at the operator's wish */
  stop(failure?: Error): void
  /** What `stop` was given. */
  failure(): Error | null
  /** Registers how to release what was just acquired. Released last-in first-out, each once the one before is quiet. */
  onStop(name: string, release: () => Promise<unknown>): void
  /** Registers what must not outlive the process even when nothing can be waited for. */
  onKill(kill: () => void): void
  /** Throws when a stop is asked for: between two steps of a start. */
  check(): void
  /** Returns when everything is released. @returns false when something could not be */
  release(log: Log | null): Promise<boolean>
  kill(): void
}

export function createLifecycle(): Lifecycle {
  const controller = new AbortController()
  const releases: { name: string; release: () => Promise<unknown> }[] = []
  const kills: (() => void)[] = []
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  let failure: Error | null = null
  return {
    stopping: controller.signal,
    stopped,
    stop(reason) {
      if (controller.signal.aborted) return
      failure = reason ?? null
      controller.abort()
      resolve()
    },
    failure: () => failure,
    onStop: (name, release) => void releases.push({ name, release }),
    onKill: (kill) => void kills.push(kill),
    check() {
      if (controller.signal.aborted) throw new StartFailure('stopped before it was ready')
    },
    async release(log) {
      let clean = true
      for (let next = releases.pop(); next !== undefined; next = releases.pop()) {
        try {
          await next.release()
        } catch (error) {
          clean = false
          log?.error({ err: error }, `${next.name} did not stop cleanly`)
        }
      }
      return clean
    },
    kill() {
      for (const kill of kills) kill()
    },
  }
}
