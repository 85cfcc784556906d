import type { Pool, Queryable } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

/** Larger payloads never come with a claim: while one is read the lanes are locked. */
export const mostBytesWithClaim = 64 * 1024
const isSmall = `octet_length(e.payload) <= ${mostBytesWithClaim}`

/**
 * The events that the rows of `source` name in `event_id`, each once. The lateral join prunes to the one partition of each id; `id = any(...)` would probe
 * every partition for every id. The limit keeps the join in that direction: planned while a day's partition held a handful
 * of rows, it was turned round, and read the whole day for every claim, 562 us a payload instead of 19, until the statistics came.
 */
const eventsOf = (source: string): string => `
(select distinct event_id as id from ${source}) u
cross join lateral (select x.id, x.type, x.payload from posthorn.event x where x.id = u.id limit 1) e`

/**
 * For a claim: the size of each payload, and the payloads of up to `mostBytesWithClaim`, as text, until they are `maxBytes` together: the
 * frame needs no sort, and the length of one that is stored out of line is read without it.
 *
 * A payload is JSON, and so it is UTF-8; as text it is half as long on its way, and in the driver's memory, as a bytea is. One that
 * is not fails the statement: see `isNotText`.
 */
export const eventsWithClaim = (source: string, maxBytes: string): string => `
select e.id, e.type, octet_length(e.payload) as bytes,
  case when ${isSmall}
      and sum(octet_length(e.payload)) filter (where ${isSmall})
        over (rows between unbounded preceding and current row) <= ${maxBytes}
    then convert_from(e.payload, 'UTF8') end as payload
from ${eventsOf(source)}`

/** SQLSTATE character_not_in_repertoire. */
export const isNotText = (error: unknown): boolean => (error as { code?: string }).code === '22021'

const sliceBytes = 64 * 1024

/**
 * Payloads in slices, so that a driver has no more than one of them at a time: of a message of 1 MiB it keeps 4 MiB of buffers for
 * its garbage collector. Byte for byte as a character each: cut anywhere, and as long on its way as the bytes are, where they are ASCII.
 * The concatenation unpacks a payload once, and not for each slice.
 */
const slices = (slice: string): string => `
select e.id, e.type, octet_length(e.payload) as bytes, s.first - 1 as at, ${slice} as slice
from (select e.id, e.type, e.payload || ''::bytea as payload from ${eventsOf('unnest($1::uuid[]) as asked(event_id)')} offset 0) e
cross join lateral generate_series(1, octet_length(e.payload), ${sliceBytes}) as s(first)`

const asText = {
  name: 'payload-slices',
  text: slices(`convert_from(substring(e.payload from s.first for ${sliceBytes}), 'LATIN1')`),
}
// With a zero byte it is no text of any kind.
const asBytes = { name: 'payload-slices-bytes', text: slices(`substring(e.payload from s.first for ${sliceBytes})`) }

const selectEndpoints = `
select e.id, e.url, e.version, e.timeout_ms, e.retry_schedule, e.header_names, e.headers_sealed,
  array(select s.sealed from posthorn.endpoint_secret s
    where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now()) order by s.created_at desc, s.id desc) as secrets,
  array(select (extract(epoch from s.expires_at) * 1000)::double precision from posthorn.endpoint_secret s
    where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now()) order by s.created_at desc, s.id desc) as expiries
from posthorn.endpoint e
where e.id = any($1::uuid[])`

export type EventToSend = { type: string; payload: Buffer }

type SliceRow = { id: string; type: string; bytes: number; at: number; slice: string | Buffer }

/**
 * The type and the payload's bytes of each event, once however many deliveries it has. Callers bound what they ask for; an event
 * that is gone is not in the answer.
 */
export async function readEventsToSend(pool: Pool, ids: readonly string[]): Promise<Map<string, EventToSend>> {
  // Guarded, for the planner does not know of the pruning.
  const read = async (statement: typeof asText): Promise<SliceRow[]> =>
    pipelinedTransaction(
      pool,
      beginGuarded,
      async (client) => (await client.query<SliceRow>({ ...statement, values: [ids] })).rows,
    )
  const rows = await read(asText).catch((error: unknown) => {
    if (!isNotText(error)) throw error
    return read(asBytes)
  })
  const events = new Map<string, EventToSend>()
  for (const { id, type, bytes, at, slice } of rows) {
    let event = events.get(id)
    if (event === undefined) {
      event = { type, payload: Buffer.alloc(bytes) }
      events.set(id, event)
    }
    if (typeof slice === 'string') event.payload.write(slice, at, 'latin1')
    else slice.copy(event.payload, at)
  }
  return events
}

export type EndpointToSend = {
  id: string
  url: string
  version: number
  timeoutMs: number
  /** Seconds; null is the default schedule. */
  retrySchedule: number[] | null
  headerNames: string[]
  headersSealed: Buffer | null
  /** Newest first; `expiresAt` in milliseconds since 1970. */
  secrets: { sealed: Buffer; expiresAt: number | null }[]
}

/** What sending needs of each endpoint, deleted ones included: a lease taken before the deletion may still end. */
export async function readEndpointsToSend(db: Queryable, ids: readonly string[]): Promise<EndpointToSend[]> {
  const { rows } = await db.query<{
    id: string
    url: string
    version: number
    timeout_ms: number
    retry_schedule: number[] | null
    header_names: string[]
    headers_sealed: Buffer | null
    secrets: Buffer[]
    expiries: (number | null)[]
  }>({ name: 'endpoints-to-send', text: selectEndpoints, values: [ids] })
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    version: row.version,
    timeoutMs: row.timeout_ms,
    retrySchedule: row.retry_schedule,
    headerNames: row.header_names,
    headersSealed: row.headers_sealed,
    secrets: row.secrets.map((sealed, at) => ({ sealed, expiresAt: row.expiries[at] ?? null })),
  }))
}
