import { randomUUID } from 'node:crypto'
import { filterPath, readFilter } from '@posthorn/core'
import { type Pool, transaction } from '@posthorn/core/db'
import { type PublishEvent, publishMany } from '@posthorn/core/sql'

/** A filter's JSON text, or what is written as such. */
export type FilterInput = string | object

/** @throws unless it is taken */
export function readFilterOf(filter: FilterInput) {
  const read = readFilter(typeof filter === 'string' ? filter : JSON.stringify(filter))
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return read
}

/** An endpoint with a filter for each, in their order; null takes all. @returns their ids */
export async function addFiltered(
  pool: Pool,
  tenant: string,
  filters: readonly (FilterInput | null)[],
  types: string[] = [],
): Promise<string[]> {
  const read = filters.map((filter) => (filter === null ? null : readFilterOf(filter)))
  const ids = filters.map(() => randomUUID())
  await pool.query(
    `insert into posthorn.endpoint (id, tenant_id, url, event_types, filter, filter_path)
     select u.id, $1, 'http://127.0.0.1/', $5, u.filter, u.path::jsonpath from unnest($2::uuid[], $3::text[], $4::text[]) u(id, filter, path)`,
    [tenant, ids, read.map((each) => each?.text), read.map((each) => each && filterPath(each.filter)), types],
  )
  return ids
}

export function eventOf(payload: string, rest: Partial<PublishEvent> = {}): PublishEvent {
  return { type: 'a.b', payload: Buffer.from(payload), channels: null, orderingKey: null, deliverAt: null, ...rest }
}

/** Publishes as the API does, one event for each payload. @returns to which endpoints each is owed */
export async function publishLikeApi(pool: Pool, tenant: string, payloads: readonly string[]): Promise<Set<string>[]> {
  const events = payloads.map((payload) => eventOf(payload))
  const [result] = await transaction(pool, (client) =>
    publishMany(client, [{ tenantId: tenant, idempotencyKey: null, events }]),
  )
  if (result?.outcome !== 'accepted') throw new Error('not accepted')
  return owedOf(
    pool,
    result.events.map(({ id }) => id),
  )
}

/** Publishes as a product does in SQL. @returns to which endpoints each is owed */
export async function publishInSql(pool: Pool, tenant: string, payloads: readonly string[]): Promise<Set<string>[]> {
  const ids: string[] = []
  for (const payload of payloads) {
    const before = await pool.query<{ id: string }>(
      `with made as materialized (select posthorn.publish($1, 'a.b', $2) as id) select m.id from made m`,
      [tenant, payload],
    )
    ids.push(before.rows[0]!.id)
  }
  const { rows } = await pool.query<{ id: string }>(
    `select e.id from unnest($1::text[]) with ordinality u(name, o)
     join posthorn.event e on e.tenant_id = $2 and posthorn.type_id('evt', e.id) = u.name order by u.o`,
    [ids, tenant],
  )
  return owedOf(
    pool,
    rows.map(({ id }) => id),
  )
}

async function owedOf(pool: Pool, events: readonly string[]): Promise<Set<string>[]> {
  const { rows } = await pool.query<{ event: string; endpoint: string }>(
    'select d.event_id as event, d.endpoint_id as endpoint from posthorn.delivery d where d.event_id = any($1)',
    [events],
  )
  return events.map((id) => new Set(rows.filter(({ event }) => event === id).map(({ endpoint }) => endpoint)))
}
