import type { Queryable } from '../db/pool.ts'
import { doorbellCapacity, doorbellChannel, encodeDoorbell } from '../domain/doorbell.ts'

// Invariant: rung after the publishing transaction has committed, in one of its own: NOTIFY takes a lock that all who
// notify in a database share, and holds it through the commit. That this commit is flushed at once matters to nobody.
const ringText = `
select set_config('synchronous_commit', 'off', true), pg_notify($1, p.payload) from unnest($2::text[]) p(payload)`

/** Tells all dispatchers that these lanes have new work. Losing it costs a little time: the sweep finds them. */
export async function ringDoorbell(queryable: Queryable, endpointIds: readonly string[]): Promise<void> {
  const payloads: string[] = []
  for (let at = 0; at < endpointIds.length; at += doorbellCapacity) {
    payloads.push(encodeDoorbell(endpointIds.slice(at, at + doorbellCapacity)))
  }
  await queryable.query({ name: 'publish-doorbell', text: ringText, values: [doorbellChannel, payloads] })
}
