import type { Received } from './receiver.ts'

/** What an ordered event carries: its line (a key, or all of a strict endpoint), and its place in it, from 0. */
export type Placed = { line: string; n: number }

/**
 * Watches a receiver for order: in each line one place at a time, each after the one before it. The last one may come again
 * (a retry, or a repeat after a crash); nothing is ever skipped or overtaken.
 */
export type OrderWatch = {
  /** Call it as a request arrives, and what it returns as the request is over. */
  arrive(request: Received): () => void
  /** Everything that was out of order, in words. */
  faults: string[]
  /** How many places have been reached, over all lines. */
  reached(): number
  /** Requests beyond the first of each place. */
  repeats(): number
}

export function placedOf(request: Received): Placed {
  return JSON.parse(request.body.toString()) as Placed
}

export function createOrderWatch(): OrderWatch {
  const last = new Map<string, number>()
  const busy = new Map<string, { n: number }>()
  const faults: string[] = []
  let repeats = 0
  let reached = 0
  return {
    faults,
    reached: () => reached,
    repeats: () => repeats,
    arrive(request) {
      const { line: name, n } = placedOf(request)
      const line = `${request.path} ${name}`
      const before = last.get(line) ?? -1
      if (n === before) repeats++
      else if (n === before + 1) reached++
      else faults.push(`${line}: ${n} after ${before}`)
      // An attempt that was given up may still be under way here when the next one of the same arrives.
      if ((busy.get(line)?.n ?? n) !== n) faults.push(`${line}: ${n} beside ${busy.get(line)?.n}`)
      last.set(line, n)
      const mine = { n }
      busy.set(line, mine)
      return () => {
        if (busy.get(line) === mine) busy.delete(line)
      }
    },
  }
}
