import type pg from 'pg'
import { payload } from './payload.ts'
import type { Seeded } from './seed.ts'

/*
 * What a delivery that failed for good leaves behind: its event, and the log of its last attempt. Half an hour of events, in
 * the order of their ids.
 */
const insertFailed = `
with made as (
  insert into posthorn.event (id, tenant_id, type, deliveries, payload)
  select posthorn.uuid_v7($1::timestamptz - ($4::float8 - n) * interval '1 millisecond' * 1800000 / $5::float8), $2, 'bench.failed', 1, $6
  from generate_series(1, $7::integer) n
  returning id
)
insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, reason, started_at, ended_at, duration_ms,
  status, url, signature, user_agent, response_headers, response_body)
select made.id, $3, gen_random_uuid(), 10, 2, 5, 'exhausted', now(), now(), 12, 500, 'http://127.0.0.1/failing',
  'v1,' || repeat('x', 44), 'Posthorn/0.1.0', '[["content-type","text/plain"]]', 'no'
from made`

const rowsPerStatement = 20_000

/** Deliveries that have failed at an endpoint, over the last half hour; then the database is left as it would be found. */
export async function seedFailed(client: pg.Client, endpoint: Seeded, deliveries: number): Promise<void> {
  const at = new Date()
  for (let from = 0; from < deliveries; from += rowsPerStatement) {
    const rows = Math.min(rowsPerStatement, deliveries - from)
    await client.query(insertFailed, [at, endpoint.tenant, endpoint.id, deliveries - from, deliveries, payload, rows])
  }
  await client.query('vacuum (analyze) posthorn.event, posthorn.attempt')
  await client.query('analyze posthorn.delivery, posthorn.lane, posthorn.endpoint')
  await client.query('checkpoint')
}
