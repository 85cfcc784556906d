import type { Posthorn } from '@posthorn/client'
import { type Delivery, nameOf } from './delivery.ts'

const pageSize = 200
/** A poll reads so many pages at most. */
const maxPages = 5
/** A poll asks after so many at most of those that are owed and stand no longer on the first pages. */
const maxAsked = 20
const maxRemembered = 10_000

export type Poll = {
  /** What has changed since the poll before, the oldest event first. */
  changed: Delivery[]
  /** There were more new ones than a poll reads. */
  missed: boolean
}

/**
 * Follows a tenant's deliveries through the API's lists. A poll reads the list, the newest event first, down to what it knows
 * already, and asks after those still owed whose next attempt was due. So it costs a request a poll while little happens, and
 * at most `maxPages + maxAsked`.
 */
export function createDeliveryWatch(client: Posthorn, tenant: string, filter: object): { poll(): Promise<Poll> } {
  /** What was seen, by name; the least recently seen first. */
  const seen = new Map<string, string>()
  /** Those of them that are owed, likewise. */
  const owed = new Map<string, Delivery>()
  let begun = false

  /** @returns whether it is other than it was */
  function note(delivery: Delivery): boolean {
    const name = nameOf(delivery)
    const mark = `${delivery.state} ${delivery.attempts} ${delivery.ended_at}`
    const isNews = seen.get(name) !== mark
    seen.delete(name)
    seen.set(name, mark)
    owed.delete(name)
    if (delivery.ended_at === null) owed.set(name, delivery)
    for (const map of [seen, owed]) {
      if (map.size > maxRemembered) map.delete(map.keys().next().value!)
    }
    return isNews
  }

  async function readNewest(): Promise<{ deliveries: Delivery[]; missed: boolean }> {
    const deliveries: Delivery[] = []
    let pages = 0
    for await (const { data } of client.deliveries.list(tenant, { ...filter, limit: pageSize }).pages()) {
      const reached = data.some((each) => seen.has(nameOf(each)))
      deliveries.push(...data)
      pages += 1
      // The first poll only finds out where it stands.
      if (reached || !begun) return { deliveries, missed: false }
      if (pages === maxPages) return { deliveries, missed: true }
    }
    return { deliveries, missed: false }
  }

  /** Those owed that the pages did not have, and that may have gone on: the longest unasked first. */
  async function askAfter(read: ReadonlySet<string>): Promise<Delivery[]> {
    const now = Date.now()
    const due = [...owed.entries()]
      .filter(([name, { next_attempt_at: next }]) => !read.has(name) && (next === null || Date.parse(next) <= now))
      .slice(0, maxAsked)
    const asked = due.map(([name, { event_id, endpoint_id }]) =>
      client.deliveries.get(tenant, event_id, endpoint_id).catch((error: { status?: number }) => {
        if (error.status !== 404) throw error
        owed.delete(name)
        return null
      }),
    )
    return (await Promise.all(asked)).filter((each) => each !== null)
  }

  return {
    async poll() {
      const { deliveries, missed } = await readNewest()
      const asked = await askAfter(new Set(deliveries.map(nameOf)))
      // Event ids are in the order of time.
      const oldestFirst = [...deliveries, ...asked].sort((a, b) => (a.event_id < b.event_id ? -1 : 1))
      begun = true
      return { changed: oldestFirst.filter(note), missed }
    },
  }
}
