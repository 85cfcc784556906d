/** What a heartbeat read of the ticket sequence: see dispatcher-heartbeat.ts in core. */
export type Mark = { ticket: bigint; xid: bigint; xmin: bigint }

/**
 * Keeps the newest safe mark: a ticket up to which every one drawn is committed or gone, so that a row with a ticket
 * below it that is ready now was ready in every later snapshot too.
 */
export type Marks = {
  add(mark: Mark): void
  /** No row that becomes visible from now on has a ticket at or below this. 0 until known. */
  safe(): bigint
  /** The last ticket drawn when the newest mark was taken. */
  newest(): bigint
}

export function createMarks(): Marks {
  let waiting: { ticket: bigint; xid: bigint }[] = []
  let safe = 0n
  let newest = 0n
  return {
    add(mark) {
      // Transactions older than xmin have ended, and with them all that drew tickets before those marks.
      for (const old of waiting) if (old.xid < mark.xmin && old.ticket > safe) safe = old.ticket
      waiting = waiting.filter((old) => old.xid >= mark.xmin)
      waiting.push({ ticket: mark.ticket, xid: mark.xid })
      // A transaction held open for hours keeps marks from becoming safe: of many, every second one is enough.
      if (waiting.length > 600) waiting = waiting.filter((_, at) => at % 2 === 1)
      if (mark.ticket > newest) newest = mark.ticket
    },
    safe: () => safe,
    newest: () => newest,
  }
}
