export type KeyFlights<T> = {
  /** Runs `work` once no other of this key is under way. */
  run(key: string, work: () => Promise<T>): Promise<T>
  /** Returns when none of the present ones is under way. */
  idle(): Promise<void>
  readonly size: number
}

/**
 * One at a time for each key, in the order of their calls.
 * @param endsAll whether a fault of one is also the answer of those that wait behind it: each would wait in vain, one after
 * the other
 */
export function createKeyFlights<T>(endsAll: (error: unknown) => boolean): KeyFlights<T> {
  const last = new Map<string, Promise<T>>()

  async function behind(before: Promise<T> | undefined, work: () => Promise<T>): Promise<T> {
    if (before !== undefined) {
      try {
        await before
      } catch (error) {
        if (endsAll(error)) throw error
      }
    }
    return work()
  }

  return {
    async run(key, work) {
      const flight = behind(last.get(key), work)
      last.set(key, flight)
      try {
        return await flight
      } finally {
        if (last.get(key) === flight) last.delete(key)
      }
    },
    async idle() {
      await Promise.allSettled(last.values())
    },
    get size() {
      return last.size
    },
  }
}
