/** Wakes one waiter. Rung while nobody waits, the next wait returns at once: no wake-up is lost. */
export type Bell = {
  ring(): void
  /** Resolves when rung, or after `ms` milliseconds (null: not by time). */
  wait(ms: number | null): Promise<void>
}

export function createBell(): Bell {
  let rung = false
  let wake: (() => void) | null = null
  return {
    ring() {
      rung = true
      wake?.()
    },
    async wait(ms) {
      if (!rung && ms !== 0) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          wake = resolve
          if (ms !== null) timer = setTimeout(resolve, ms)
        })
        clearTimeout(timer)
        wake = null
      }
      rung = false
    },
  }
}
