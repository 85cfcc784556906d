/** Gathers how to end what was started, and ends it in the opposite order. */
export type Scope = {
  /** @returns ends it now; whoever calls it again waits for the same end */
  add(end: () => Promise<void>): () => Promise<void>
  /** A scope that ends with this one at the latest. */
  inner(): Scope
  /** Ends all. Idempotent. @throws what the ends threw, once all have been tried */
  end(): Promise<void>
  /** True once `end` was called: nothing may be started any more. */
  ended(): boolean
}

export function createScope(): Scope {
  const ends: (() => Promise<void>)[] = []
  let ending: Promise<void> | null = null

  function add(end: () => Promise<void>): () => Promise<void> {
    let once: Promise<void> | null = null
    const endOnce = (): Promise<void> => {
      once ??= end().finally(() => {
        const at = ends.indexOf(endOnce)
        if (at >= 0) ends.splice(at, 1)
      })
      return once
    }
    ends.push(endOnce)
    return endOnce
  }

  async function endAll(): Promise<void> {
    const faults: unknown[] = []
    while (ends.length > 0) {
      const last = ends.at(-1)!
      await last().catch((fault: unknown) => faults.push(fault))
    }
    if (faults.length > 0) throw new AggregateError(faults, faults.map((fault) => (fault as Error).message).join('; '))
  }

  return {
    add,
    inner() {
      const scope = createScope()
      add(scope.end)
      return scope
    },
    end() {
      ending ??= endAll()
      return ending
    },
    ended: () => ending !== null,
  }
}
