/** How much memory the payloads in flight may take: counted in bytes, for a slot may hold one of 10 bytes or of a mebibyte. */
export type ByteBudget = {
  /** What may still be read; below zero once more was read than that. */
  left(): number
  /** About so many deliveries fit in all, of the size that they had lately; at least one. */
  most(): number
  /** So many of them more. At least one where nothing is in flight. */
  fits(): number
  /** The payload of one delivery is in memory. */
  take(bytes: number): void
  free(bytes: number): void
  /** Resolves with true once there is room again, or with false after `ms`. */
  room(ms: number): Promise<boolean>
}

/** Weight of one delivery in the average, where it is smaller than that. */
const weight = 1 / 256

export function createByteBudget(max: number): ByteBudget {
  let used = 0
  /** Rises at once, so that the next claim knows, and falls slowly. */
  let usual = 1
  const most = (): number => Math.max(1, Math.floor(max / usual))
  const waiting = new Set<(free: boolean) => void>()
  return {
    left: () => max - used,
    most,
    fits: () => (used === 0 ? most() : Math.max(0, Math.floor((max - used) / usual))),
    take(bytes) {
      used += bytes
      usual = bytes > usual ? bytes : usual + (bytes - usual) * weight
    },
    free(bytes) {
      used -= bytes
      if (used >= max / 2) return
      for (const resolve of waiting) resolve(true)
    },
    room(ms) {
      if (used < max / 2) return Promise.resolve(true)
      return new Promise((resolve) => {
        const done = (free: boolean): void => {
          clearTimeout(timer)
          waiting.delete(done)
          resolve(free)
        }
        const timer = setTimeout(done, ms, false)
        waiting.add(done)
      })
    },
  }
}
