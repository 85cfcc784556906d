/** What waits to be written: one request, however many events it has. */
export type Weighed = { events: number; bytes: number }

/** A flush of so many requests is a busy one: what comes meanwhile waits for it, in place of going at once on another flight. */
const busy = 8
/** So many do not wait for a busy one. */
const enough = 64

export type FlushQueueOptions<T> = {
  /** Flushes under way at once, each on a connection of its own. */
  flights: number
  /** Events and bytes in one flush at most; a request that is larger goes by itself. */
  maxEvents: number
  maxBytes: number
  /** Writes a batch, and answers each of it. Never rejects. */
  flush: (batch: T[]) => Promise<void>
}

export type FlushQueue<T> = {
  push(item: T): void
  /** Returns when nothing waits and nothing is under way. */
  idle(): Promise<void>
}

/**
 * Natural batching: whatever waits when a flight is free goes together. With little to do each goes at once and alone; the
 * slower the database, the larger the batches. A statement costs as much as ten more events in it, so under load one flight with
 * twice as many is worth more than two.
 */
export function createFlushQueue<T extends Weighed>(options: FlushQueueOptions<T>): FlushQueue<T> {
  let waiting: T[] = []
  let scheduled = false
  const underWay = new Set<Promise<void>>()
  let busyFlights = 0
  let idlers: (() => void)[] = []

  function take(): T[] {
    let events = 0
    let bytes = 0
    let count = 0
    for (const item of waiting) {
      events += item.events
      bytes += item.bytes
      if (count > 0 && (events > options.maxEvents || bytes > options.maxBytes)) break
      count++
    }
    if (count === waiting.length) {
      const all = waiting
      waiting = []
      return all
    }
    return waiting.splice(0, count)
  }

  function mayFly(): boolean {
    return underWay.size < options.flights && (busyFlights === 0 || waiting.length >= enough)
  }

  function pump(): void {
    scheduled = false
    while (waiting.length > 0 && mayFly()) {
      const batch = take()
      const isBusy = batch.length >= busy ? 1 : 0
      busyFlights += isBusy
      const flight = options.flush(batch).finally(() => {
        busyFlights -= isBusy
        underWay.delete(flight)
        pump()
      })
      underWay.add(flight)
    }
    if (waiting.length === 0 && underWay.size === 0) {
      for (const done of idlers) done()
      idlers = []
    }
  }

  return {
    push(item) {
      waiting.push(item)
      if (scheduled || !mayFly()) return
      scheduled = true
      // Behind all that the sockets brought in this turn, so that a burst goes together.
      setImmediate(pump)
    },
    idle() {
      if (waiting.length === 0 && underWay.size === 0) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
  }
}
