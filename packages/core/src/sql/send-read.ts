import type { Pool, Queryable } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

/**
 * The events that the rows of `source` name in `event_id`, each once. The lateral join prunes to the one partition of each id; `id = any(...)` would probe
 * every partition for every id. The limit keeps the join in that direction: planned while a day's partition held a handful
 * of rows, it was turned round, and read the whole day for every claim, 562 us a payload instead of 19, until the statistics came.
 *
 * A payload is left out once those before it have so many bytes: the frame needs no sort, and the length of one that is stored
 * out of line is read without it.
 */
export const eventsToSend = (source: string, maxBytes: string, payload = 'e.payload'): string => `
select e.id, e.type,
  case when sum(octet_length(e.payload)) over (rows between unbounded preceding and current row) - octet_length(e.payload) < ${maxBytes}
    then ${payload} end as payload
from (select distinct event_id as id from ${source}) u
cross join lateral (select x.id, x.type, x.payload from posthorn.event x where x.id = u.id limit 1) e`

/**
 * A payload is JSON, and so it is UTF-8; as text it is half as long on its way, and in the driver's memory, as a bytea is. One that
 * is not fails the statement with `notText`.
 */
export const payloadText = "convert_from(e.payload, 'UTF8')"

/** SQLSTATE character_not_in_repertoire. */
const notText = '22021'

export const isNotText = (error: unknown): boolean => (error as { code?: string }).code === notText

// Guarded besides, for the planner does not know of the pruning.
const source = 'unnest($1::uuid[]) as asked(event_id)'
const asText = { name: 'events-to-send', text: eventsToSend(source, '$2::bigint', payloadText) }
const asBytes = { name: 'events-to-send-bytes', text: eventsToSend(source, '$2::bigint') }

const selectEndpoints = `
select e.id, e.url, e.version, e.timeout_ms, e.retry_schedule, e.header_names, e.headers_sealed,
  array(select s.sealed from posthorn.endpoint_secret s
    where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now()) order by s.created_at desc, s.id desc) as secrets,
  array(select (extract(epoch from s.expires_at) * 1000)::double precision from posthorn.endpoint_secret s
    where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now()) order by s.created_at desc, s.id desc) as expiries
from posthorn.endpoint e
where e.id = any($1::uuid[])`

export type EventToSend = { type: string; payload: Buffer }

type EventRow = { id: string; type: string; payload: string | Buffer | null }

/**
 * The type and the payload's bytes of each event, once however many deliveries it has. Of payloads with more than `maxBytes`
 * together some are left out, and named in `left`; never all.
 */
export async function readEventsToSend(
  pool: Pool,
  ids: readonly string[],
  maxBytes = Number.MAX_SAFE_INTEGER,
): Promise<{ events: Map<string, EventToSend>; left: Set<string> }> {
  const read = async (statement: typeof asText): Promise<EventRow[]> =>
    pipelinedTransaction(pool, beginGuarded, async (client) => {
      const values = [ids, Math.max(1, Math.floor(maxBytes))]
      return (await client.query<EventRow>({ ...statement, values })).rows
    })
  const rows = await read(asText).catch((error: unknown) => {
    if (!isNotText(error)) throw error
    return read(asBytes)
  })
  const events = new Map<string, EventToSend>()
  const left = new Set<string>()
  for (const { id, type, payload } of rows) {
    if (payload === null) left.add(id)
    else events.set(id, { type, payload: Buffer.from(payload) })
  }
  return { events, left }
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
