/**
 * Shares out the memory that large payloads in flight may take, so that no lane and no crowd of hanging lanes can fill it.
 *
 *   a small payload   takes none of it: the slot of its attempt is enough, and so it never waits for a large one
 *   a lane            at most a quarter
 *   doubtful lanes    together at most half: those that have not proved themselves, or are slow
 *
 * While there is any room, a lane that has nothing of it may have one payload, however large.
 */
export type ByteBudget = {
  /**
   * Lowers what a claim asks of each lane to what would fit, were all as large as the lane's were lately. A lane of which none would
   * fit is left out; one of which nothing large is known is not touched, for what it has may be small.
   */
  cut<Aim extends { endpointId: string; most?: number }>(aims: readonly Aim[]): Aim[]
  /** A payload of this size is owed to the lane. */
  learn(lane: string, bytes: number): void
  /** May it be read now? Then it counts, until it is freed. */
  admit(lane: string, bytes: number): boolean
  /** It is in memory, whether or not there was room. */
  take(lane: string, bytes: number): void
  free(lane: string, bytes: number): void
  /** Resolves with true when some of it is free again, or with false after `ms`. */
  freed(ms: number): Promise<boolean>
}

/** Weight of one payload in its lane's average. One that is larger is taken for usual at once. */
const weight = 1 / 16
/** Lanes with large payloads that are remembered. */
const maxLanes = 10_000

/** @param options `max`: bytes; `small`: up to so many do not count; `trusts`: the lane has proved itself, and is not slow */
export function createByteBudget(options: {
  max: number
  small: number
  trusts: (lane: string) => boolean
}): ByteBudget {
  const { max, small, trusts } = options
  /** Bytes in flight, and those of each lane that has some. */
  let used = 0
  const usedBy = new Map<string, number>()
  /** Bytes of a payload lately, of each lane with large ones. */
  const usualOf = new Map<string, number>()
  const waiting = new Set<(freed: boolean) => void>()

  function leftFor(lane: string): number {
    const left = Math.min(max - used, max / 4 - (usedBy.get(lane) ?? 0))
    if (left <= 0 || trusts(lane)) return left
    let doubtful = 0
    for (const [other, bytes] of usedBy) if (!trusts(other)) doubtful += bytes
    return Math.min(left, max / 2 - doubtful)
  }

  function take(lane: string, bytes: number): void {
    if (bytes <= small) return
    used += bytes
    usedBy.set(lane, (usedBy.get(lane) ?? 0) + bytes)
  }

  return {
    cut(aims) {
      let left = max - used
      return aims.flatMap((aim) => {
        const each = usualOf.get(aim.endpointId)
        if (each === undefined) return [aim]
        const room = Math.min(left, leftFor(aim.endpointId))
        if (room <= 0) return []
        const fits = Math.floor(room / each) || (usedBy.has(aim.endpointId) ? 0 : 1)
        const most = Math.min(aim.most ?? fits, fits)
        left -= most * each
        return most > 0 ? [{ ...aim, most }] : []
      })
    },
    learn(lane, bytes) {
      const before = usualOf.get(lane) ?? 0
      const now = bytes > before ? bytes : before + (bytes - before) * weight
      // Behind those that were learned of before.
      usualOf.delete(lane)
      if (now <= small) return
      usualOf.set(lane, now)
      if (usualOf.size > maxLanes) usualOf.delete(usualOf.keys().next().value!)
    },
    admit(lane, bytes) {
      if (bytes <= small) return true
      const left = leftFor(lane)
      if (left <= 0 || (left < bytes && usedBy.has(lane))) return false
      take(lane, bytes)
      return true
    },
    take,
    free(lane, bytes) {
      if (bytes <= small) return
      used -= bytes
      const left = usedBy.get(lane)! - bytes
      if (left > 0) usedBy.set(lane, left)
      else usedBy.delete(lane)
      for (const resolve of waiting) resolve(true)
    },
    freed(ms) {
      return new Promise((resolve) => {
        const done = (freed: boolean): void => {
          clearTimeout(timer)
          waiting.delete(done)
          resolve(freed)
        }
        const timer = setTimeout(done, ms, false)
        waiting.add(done)
      })
    },
  }
}
