import type { Pool } from '../db/pool.ts'
import { type Filter, type FilterTest, testsOf } from '../filter/filter.ts'
import { placePaths, testPath } from '../filter/filter-path.ts'
import { readFilter } from '../filter/filter-read.ts'
import { idBounds, type Period } from './event-bounds.ts'
import { guardedTransaction } from './guarded-transaction.ts'
import { guards } from './pipelined-transaction.ts'

/**
 * Whether an endpoint would be owed events, and what of each condition holds.
 *
 * Invariant: the verdict is that of posthorn.publish_many: the same conditions on the same columns, the stored path among them.
 * What is told of single tests comes from Postgres too; all is read in one snapshot.
 */
const endpointText = `
select p.status as "status", p.event_types as "eventTypes", p.channels as "channels", p.filter as "filter"
from posthorn.endpoint p where p.id = $2 and p.tenant_id = $1 and p.deleted_at is null`

// A test is {"test": its path, "places": [the places that it looks at]}. Of what stands there at most so many characters are
// told, and of objects and arrays only that they are.
const judge = `
, seen as materialized (
  select s.event_id, s.type, s.channels, s.only_to, s.at,
    case when p.filter_path is not null then posthorn.filter_document(s.payload) end as document,
    p.status <> 'disabled' as status_takes,
    p.event_types = '{}' or p.event_types && posthorn.event_type_patterns(s.type) as type_taken,
    p.channels = '{}' or p.channels && coalesce(s.channels, '{}') as channels_taken,
    p.filter_path
  from sample s cross join posthorn.endpoint p
  where p.id = $2 and p.tenant_id = $1
)
select s.event_id as "eventId", s.type as "type", s.only_to as "onlyTo", s.status_takes as "statusTakes",
  s.type_taken as "typeTaken", s.channels_taken as "channelsTaken", s.document is not null as "readable",
  s.filter_path is null or coalesce(s.document @@ s.filter_path, false) as "filterMet",
  array(
    select coalesce(s.document @@ (t.value ->> 'test')::jsonpath, false)
    from jsonb_array_elements($3::jsonb) with ordinality t(value, o) order by t.o
  ) as "holds",
  array(
    select (
      select case jsonb_typeof(f.found) when 'object' then '{...}' when 'array' then '[...]' else left(f.found::text, 200) end
      from jsonb_array_elements_text(t.value -> 'places') a(place)
      cross join lateral jsonb_path_query_first(s.document, a.place::jsonpath, '{}', true) f(found)
      where f.found is not null limit 1
    )
    from jsonb_array_elements($3::jsonb) with ordinality t(value, o) order by t.o
  ) as "found"
from seen s order by s.at`

const sampleText = `
with sample as materialized (
  select null::uuid as event_id, $4::text as type, $5::text[] as channels, null::uuid as only_to, $6::bytea as payload, 1 as at
)${judge}`

// Walks the tenant's own index: see event-walk.ts.
const lastText = `
with walked as materialized (
  select e.id as event_id, e.type, e.channels, e.only_to, e.payload
  from posthorn.event e
  where (e.tenant_id, e.id) >= ($1, $4::uuid) and (e.tenant_id, e.id) <= ($1, $5::uuid) and e.id >= $4::uuid and e.id <= $5::uuid
  order by e.tenant_id desc, e.id desc limit $6
), counted as materialized (
  select w.event_id, w.type, w.channels, w.only_to, w.payload, row_number() over () as at,
    sum(octet_length(w.payload)) over (rows between unbounded preceding and 1 preceding) as bytes_before
  from walked w
), sample as materialized (
  select c.event_id, c.type, c.channels, c.only_to, c.payload, c.at from counted c
  where coalesce(c.bytes_before, 0) < $7
)${judge}`

const begin = `begin isolation level repeatable read read only; ${guards}; set local enable_sort = off`

/** Of payloads of the last events: what comes behind so many bytes is left out. */
const maxBytes = 16 * 1024 * 1024

/** What is asked about: a sample that was not published, or the tenant's newest events. */
export type MatchQuestion =
  | { type: string; channels: readonly string[] | null; payload: Uint8Array }
  | ({ last: number } & Pick<Period, 'since'>)

export type MatchAnswer = {
  /** Null for a sample. */
  eventId: string | null
  type: string
  /** The one endpoint that a test event is for. */
  onlyTo: string | null
  statusTakes: boolean
  typeTaken: boolean
  channelsTaken: boolean
  filterMet: boolean
  /** Whether filters can look into the payload; false where the endpoint has no filter. */
  readable: boolean
  /** Of each test of the filter, in the order of `testsOf`: whether it holds, and what JSON is there, if anything. */
  holds: boolean[]
  found: (string | null)[]
}

export type EndpointMatches = {
  status: string
  eventTypes: string[]
  channels: string[]
  filter: Filter | null
  /** Newest first. */
  answers: MatchAnswer[]
}

/** Null when the tenant has no such endpoint. */
export function matchEvents(
  pool: Pool,
  tenantId: string,
  endpointId: string,
  question: MatchQuestion,
): Promise<EndpointMatches | null> {
  return guardedTransaction(pool, begin, async (client) => {
    const own = [tenantId, endpointId]
    const { rows: endpoints } = await client.query<
      Omit<EndpointMatches, 'filter' | 'answers'> & { filter: string | null }
    >(endpointText, own)
    const endpoint = endpoints[0]
    if (endpoint === undefined) return null
    const filter = endpoint.filter === null ? null : stored(endpoint.filter)
    const tests = JSON.stringify(filter === null ? [] : testsOf(filter).map(written))
    const { text, values } = statementOf(question)
    const { rows: answers } = await client.query<MatchAnswer>(text, [...own, tests, ...values])
    return { ...endpoint, filter, answers }
  })
}

function statementOf(question: MatchQuestion): { text: string; values: unknown[] } {
  if (!('last' in question)) return { text: sampleText, values: [question.type, question.channels, question.payload] }
  const { low, high } = idBounds({ since: question.since })
  return { text: lastText, values: [low, high, question.last, maxBytes] }
}

function stored(text: string): Filter {
  const read = readFilter(text)
  if ('faults' in read) throw new Error('a stored filter cannot be read')
  return read.filter
}

function written({ path, test }: { path: readonly string[]; test: FilterTest }) {
  return { test: testPath(path, test), places: placePaths(path) }
}
