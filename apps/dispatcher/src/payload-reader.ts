import type { EventToSend, Lease } from '@posthorn/core/sql'
import type { ByteBudget } from './byte-budget.ts'

/** A lease whose payload is to be read. */
export type Unread = {
  lease: Lease
  /** Of the whole payload. */
  bytes: number
  /** What this lease answers for of it: less than the whole where others share it. */
  part: number
}

/** Of payloads that one statement reads; one that is larger is read by itself. */
const maxBytesPerRead = 1024 * 1024
/** How long leases wait for room for their payloads; then they are given back. */
const waitMs = 2_000

/**
 * Reads payloads as room for them comes, and hands over each with its event, or with none if that is gone. Whoever takes one frees
 * its part. Returns early when there was no room for 2 s, or `halted`: what was not handed over is the caller's still.
 * @throws what `read` throws, with nothing taken that was not handed over
 */
export async function readPayloads(
  unread: readonly Unread[],
  deps: {
    bytes: ByteBudget
    read: (eventIds: string[]) => Promise<Map<string, EventToSend>>
    take: (of: Unread, event: EventToSend | undefined) => void
    halted: () => boolean
  },
): Promise<void> {
  const { bytes, read, take, halted } = deps
  let waiting = unread
  let until = performance.now() + waitMs
  while (waiting.length > 0 && !halted()) {
    const { now, later, ids } = admit(waiting, bytes)
    if (now.length === 0) {
      if (!(await bytes.freed(Math.max(0, until - performance.now())))) return
      continue
    }
    let events: Map<string, EventToSend>
    try {
      events = await read(ids)
    } catch (error) {
      for (const { lease, part } of now) bytes.free(lease.endpointId, part)
      throw error
    }
    for (const each of now) take(each, events.get(each.lease.eventId))
    waiting = later
    until = performance.now() + waitMs
  }
}

/** Those that one statement reads next. What they take counts from now on. */
function admit(waiting: readonly Unread[], bytes: ByteBudget): { now: Unread[]; later: Unread[]; ids: string[] } {
  const now: Unread[] = []
  const later: Unread[] = []
  const ids = new Set<string>()
  let together = 0
  for (const each of waiting) {
    const { eventId, endpointId } = each.lease
    const read = ids.has(eventId)
    if ((read || together === 0 || together + each.bytes <= maxBytesPerRead) && bytes.admit(endpointId, each.part)) {
      now.push(each)
      if (read) continue
      ids.add(eventId)
      together += each.bytes
    } else later.push(each)
  }
  return { now, later, ids: [...ids] }
}
