import { createVault, generateSecret, uuidV7 } from '@posthorn/core'
import type pg from 'pg'
import { payload } from './payload.ts'
import { encryptionKey } from './posthorn-process.ts'

export type Seeded = { id: string; tenant: string; url: string }

const insertTenants = `
insert into posthorn.tenant (id) select distinct t from unnest($1::text[]) t on conflict do nothing`

const insertEndpoints = `
insert into posthorn.endpoint (id, tenant_id, url, status, max_in_flight)
select u.id, u.tenant, u.url, $4::text, $5::integer from unnest($1::uuid[], $2::text[], $3::text[]) u(id, tenant, url)`

const insertSecrets = `
insert into posthorn.endpoint_secret (id, endpoint_id, sealed)
select u.id, u.endpoint_id, u.sealed from unnest($1::uuid[], $2::uuid[], $3::bytea[]) u(id, endpoint_id, sealed)`

const insertLanes = `
insert into posthorn.lane (endpoint_id, tenant_id, status, max_in_flight, timeout_ms)
select u.id, u.tenant, $3::smallint, $4::integer, 15000 from unnest($1::uuid[], $2::text[]) u(id, tenant)`

export type SeedEndpoints = {
  /** One element an endpoint. */
  endpoints: readonly { tenant: string; url: string }[]
  paused?: boolean
  /** The API's default is 20. */
  maxInFlight?: number
}

/** Registers endpoints as the API would, in four statements instead of thousands of requests. */
export async function seedEndpoints(client: pg.Client, seed: SeedEndpoints): Promise<Seeded[]> {
  const vault = createVault(encryptionKey)
  const seeded = seed.endpoints.map((endpoint) => ({ id: uuidV7(), ...endpoint }))
  const ids = seeded.map((endpoint) => endpoint.id)
  const tenants = seeded.map((endpoint) => endpoint.tenant)
  const urls = seeded.map((endpoint) => endpoint.url)
  const paused = seed.paused ?? false
  const maxInFlight = seed.maxInFlight ?? 20
  await client.query('begin')
  await client.query(insertTenants, [tenants])
  await client.query(insertEndpoints, [ids, tenants, urls, paused ? 'paused' : 'enabled', maxInFlight])
  await client.query(insertSecrets, [ids.map(() => uuidV7()), ids, ids.map(() => vault.seal(generateSecret()))])
  await client.query(insertLanes, [ids, tenants, paused ? 1 : 0, maxInFlight])
  await client.query('commit')
  return seeded
}

/** Without telling a dispatcher. */
export async function setPaused(client: pg.Client, endpoints: readonly Seeded[], paused: boolean): Promise<void> {
  await client.query(
    `with changed as (update posthorn.endpoint e set status = $2 where e.id = any($1::uuid[]) returning e.id)
     update posthorn.lane l set status = $3 from changed where l.endpoint_id = changed.id`,
    [endpoints.map(({ id }) => id), paused ? 'paused' : 'enabled', paused ? 1 : 0],
  )
}

/*
 * The rows that posthorn.publish_many writes, without its fan-out; as there, the transaction has its id before it draws a
 * ticket.
 */
const insertOwed = `
with owed as materialized (
  select posthorn.uuid_v7(clock_timestamp()) as event_id, u.endpoint_id, u.tenant, u.key, u.o
  from unnest($1::uuid[], $2::text[], $4::text[]) with ordinality u(endpoint_id, tenant, key, o)
),
made_events as (
  insert into posthorn.event (id, tenant_id, type, ordering_key, deliveries, payload)
  select o.event_id, o.tenant, 'bench.tested', o.key, 1, $3::bytea from owed o order by o.o
)
insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state, order_key)
select o.event_id, o.endpoint_id, nextval('posthorn.ticket'), now(), now(), 0, posthorn.order_key(o.key) from owed o order by o.o`

const rowsPerStatement = 5_000
const rowsPerInsert = 100_000

/**
 * Owes so many deliveries, one event each, evenly over the endpoints and in random order, and leaves the database as it
 * would be found: analyzed, and with nothing left to be written.
 * @param keys with ordering keys, evenly over these; none unless given
 */
export async function seedBacklog(
  client: pg.Client,
  endpoints: readonly Seeded[],
  deliveries: number,
  keys: readonly string[] = [],
): Promise<void> {
  const order = new Uint32Array(deliveries)
  for (let at = 0; at < deliveries; at++) {
    const other = Math.floor(Math.random() * (at + 1))
    order[at] = order[other]!
    order[other] = at
  }
  for (let from = 0; from < deliveries; from += rowsPerStatement) {
    const numbers = Array.from(order.subarray(from, from + rowsPerStatement))
    const some = numbers.map((at) => endpoints[at % endpoints.length]!)
    const someKeys = numbers.map((at) => keys[at % keys.length] ?? null)
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    await client.query(insertOwed, [some.map(({ id }) => id), some.map(({ tenant }) => tenant), payload, someKeys])
    await client.query('commit')
  }
  await client.query(
    'analyze posthorn.delivery, posthorn.event, posthorn.lane, posthorn.endpoint, posthorn.endpoint_secret',
  )
  await client.query('checkpoint')
}

const insertWaiting = `
insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
select posthorn.uuid_v7(clock_timestamp()), ($1::uuid[])[1 + (random() * (cardinality($1::uuid[]) - 1))::integer], nextval('posthorn.ticket'), now(), now(), 0
from generate_series(1, $2::integer)`

/** As `seedBacklog`, by the million, of events that are not there: for what claims and makes no requests. */
export async function seedWaiting(client: pg.Client, endpoints: readonly Seeded[], deliveries: number): Promise<void> {
  const ids = endpoints.map(({ id }) => id)
  for (let from = 0; from < deliveries; from += rowsPerInsert) {
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    await client.query(insertWaiting, [ids, Math.min(rowsPerInsert, deliveries - from)])
    await client.query('commit')
  }
  await client.query('vacuum (analyze) posthorn.delivery')
  await client.query('analyze posthorn.lane, posthorn.endpoint')
  await client.query('checkpoint')
}
