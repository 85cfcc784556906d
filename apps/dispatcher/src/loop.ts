import type { Log } from '@posthorn/core'
import { isDatabaseUnavailable } from '@posthorn/core/db'

/** Runs a piece of upkeep again and again, one at a time, until stopped. */
export type Loop = {
  /** Runs it soon, instead of after its pause. */
  hurry(): void
  /** Idempotent; resolves when the last run has ended. */
  stop(): Promise<void>
}

export type LoopOptions = {
  name: string
  log: Log
  /** One run; answers the milliseconds until the next. */
  run: () => Promise<number>
  /** Milliseconds until the next run after a fault. */
  afterFaultMs: number
  /** Milliseconds before the first run. */
  firstMs?: number
}

export function startLoop(options: LoopOptions): Loop {
  const { name, log, run, afterFaultMs } = options
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let hurried = false
  let faults = 0

  async function once(): Promise<void> {
    let pauseMs: number
    try {
      pauseMs = await run()
      if (faults > 0) log.info({ loop: name }, 'upkeep works again')
      faults = 0
    } catch (error) {
      pauseMs = afterFaultMs
      // A database that is away is said once, not each second.
      if (faults++ === 0 || !isDatabaseUnavailable(error))
        log.warn({ loop: name, err: error }, 'upkeep failed, and is tried again')
    }
    running = null
    if (!stopped) schedule(hurried ? 0 : pauseMs)
    hurried = false
  }

  function schedule(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      running = once()
    }, ms)
  }

  schedule(options.firstMs ?? 0)
  return {
    hurry() {
      if (stopped) return
      if (running === null) schedule(0)
      else hurried = true
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
