/** What a heartbeat read of the ticket sequence: see dispatcher-heartbeat.ts in core. */
export type Mark = { ticket: bigint; xid: bigint; xmin: bigint; atMs: number }

/**
 * Keeps the newest safe mark: a ticket up to which every one drawn is committed or gone, so that a row with a ticket
 * below it that is ready now was ready in every later snapshot too.
 */
export type Marks = {
  add(mark: Mark): void
  /** No row that becomes visible from now on has a ticket at or below this. 0 until known. */
  safe(): bigint
  /** When the newest safe mark was taken, by the database's clock: what runs now began later. 0 until known. */
  safeAtMs(): number
  /** The last ticket drawn when the newest mark was taken. */
  newest(): bigint
}

export function createMarks(): Marks {
  let waiting: { ticket: bigint; xid: bigint; atMs: number }[] = []
  let safe = 0n
  let safeAtMs = 0
  let newest = 0n
  return {
    add(mark) {
      // Transactions older than xmin have ended, and with them all that drew tickets before those marks.
      for (const old of waiting) {
        if (old.xid >= mark.xmin) continue
        if (old.ticket > safe) safe = old.ticket
        if (old.atMs > safeAtMs) safeAtMs = old.atMs
      }
      waiting = waiting.filter((old) => old.xid >= mark.xmin)
      waiting.push({ ticket: mark.ticket, xid: mark.xid, atMs: mark.atMs })
      // A transaction held open for hours keeps marks from becoming safe: of many, every second one is enough.
      if (waiting.length > 600) waiting = waiting.filter((_, at) => at % 2 === 1)
      if (mark.ticket > newest) newest = mark.ticket
    },
    safe: () => safe,
    safeAtMs: () => safeAtMs,
    newest: () => newest,
  }
}
