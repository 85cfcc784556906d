/**
 * What order promises, kept by the side of the database: the books of an auditor who sees each publish begin and be answered,
 * each lease taken, and each end.
 *
 * The promise: an event whose publish was answered before another's was called goes first, among those of one key (by key) or
 * of the whole lane (strict); and one at a time. A redelivery is a publish. What had been leased before and has not ended, a
 * head, goes before all others that wait.
 */
export type Owed = {
  event: string
  key: string | null
  /** Logical times; answered is infinite while the publish has not been answered. */
  called: number
  answered: number
  leased: boolean
  /** It was leased in order before, and has not ended. */
  head: boolean
  /** It was tried without order, and is tried again as it falls due: nothing is promised of its place. */
  loose: boolean
}

export type Mode = 'none' | 'strict' | 'by_key'

export class OrderModel {
  readonly owed = new Map<string, Owed>()
  private time = 0

  call(event: string, key: string | null): Owed {
    const made = {
      event,
      key,
      called: ++this.time,
      answered: Number.POSITIVE_INFINITY,
      leased: false,
      head: false,
      loose: false,
    }
    this.owed.set(event, made)
    return made
  }

  answer(owed: Owed): void {
    owed.answered = ++this.time
  }

  /** @returns what is wrong with leasing this one now; null when nothing is */
  fault(event: string, mode: Mode): string | null {
    const chosen = this.owed.get(event)
    if (chosen === undefined) return `${event} is not owed`
    if (chosen.leased) return `${event} is in flight twice`
    if (mode === 'none' || (mode === 'by_key' && chosen.key === null)) return null
    for (const other of this.owed.values()) {
      if (other === chosen || (mode === 'by_key' && other.key !== chosen.key)) continue
      if (other.leased) return `${event} goes beside ${other.event}`
      if (chosen.head) continue
      if (other.head) return `${event} overtakes ${other.event}, which was tried before`
      if (chosen.loose || other.loose) continue
      if (other.answered < chosen.called) return `${event} overtakes ${other.event}`
    }
    return null
  }

  lease(event: string, mode: Mode): void {
    const chosen = this.owed.get(event)!
    chosen.leased = true
    // Without a key it has no place by key, whatever it had before.
    if (mode !== 'none') chosen.head = mode === 'strict' || chosen.key !== null
  }

  /** It is to be tried again. */
  back(event: string): void {
    const owed = this.owed.get(event)!
    owed.leased = false
    owed.loose ||= !owed.head
  }

  end(event: string): void {
    this.owed.delete(event)
  }
}
