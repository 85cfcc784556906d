import { expect, test } from 'vitest'
import { useBench } from './claim-fixture.ts'

/* What the drift test does not see: partial indexes, checks, storage, the sequence, foreign keys, rights. */

const bench = useBench()

async function indexesOf(table: string): Promise<Record<string, string>> {
  const { rows } = await bench.pool.query<{ name: string; definition: string }>(
    `select indexname as name, replace(indexdef, 'posthorn.', '') as definition from pg_indexes
     where schemaname = 'posthorn' and tablename = $1 order by 1`,
    [table],
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.definition]))
}

test('delivery has its key, a partial index for each state, scheduled by lane too, and two more for ordered rows', async () => {
  expect(await indexesOf('delivery')).toEqual({
    delivery_pkey: 'CREATE UNIQUE INDEX delivery_pkey ON delivery USING btree (event_id, endpoint_id)',
    delivery_ready: 'CREATE INDEX delivery_ready ON delivery USING btree (endpoint_id, ticket) WHERE (state = 0)',
    delivery_leased: 'CREATE INDEX delivery_leased ON delivery USING btree (endpoint_id, ticket) WHERE (state = 1)',
    delivery_scheduled: 'CREATE INDEX delivery_scheduled ON delivery USING btree (due_at) WHERE (state = 2)',
    delivery_scheduled_lane:
      'CREATE INDEX delivery_scheduled_lane ON delivery USING btree (endpoint_id, due_at) WHERE (state = 2)',
    delivery_head:
      'CREATE INDEX delivery_head ON delivery USING btree (endpoint_id, order_key, ticket) WHERE (head AND (state <> 1))',
    delivery_held:
      'CREATE INDEX delivery_held ON delivery USING btree (endpoint_id, order_key, ticket) WHERE (state = 3)',
  })
})

test('the log and the events have their keys and what lists and recovery look for', async () => {
  expect(Object.keys(await indexesOf('event'))).toEqual(['event_pkey', 'event_tenant'])
  expect(await indexesOf('attempt')).toEqual({
    attempt_pkey: 'CREATE UNIQUE INDEX attempt_pkey ON ONLY attempt USING btree (event_id, endpoint_id, id)',
    attempt_unsuccessful:
      'CREATE INDEX attempt_unsuccessful ON ONLY attempt USING btree (endpoint_id, event_id) WHERE ((state = ANY (ARRAY[5, 6])) AND (outcome <> 4))',
  })
})

test('no foreign key points from or to a hot table', async () => {
  const { rows } = await bench.pool.query<{ from: string; to: string }>(
    `select c.conrelid::regclass::text as "from", c.confrelid::regclass::text as "to" from pg_constraint c
     where c.contype = 'f' and c.connamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  expect(rows).toEqual([{ from: 'posthorn.endpoint_secret', to: 'posthorn.endpoint' }])
})

test('no trigger stands on a hot table', async () => {
  const { rows } = await bench.pool.query(
    `select from pg_trigger t where not t.tgisinternal and t.tgrelid in
       ('posthorn.delivery'::regclass, 'posthorn.lane'::regclass, 'posthorn.event'::regclass, 'posthorn.attempt'::regclass)`,
  )
  expect(rows).toEqual([])
})

test('tickets are drawn one by one, in order over all sessions, and never come round', async () => {
  const { rows } = await bench.pool.query(
    `select cache_size, increment_by, cycle, data_type::text as type, max_value from pg_sequences
     where schemaname = 'posthorn' and sequencename = 'ticket'`,
  )
  expect(rows).toEqual([
    { cache_size: '1', increment_by: '1', cycle: false, type: 'bigint', max_value: '9223372036854775807' },
  ])
})

test('delivery and lane keep room on their pages, and are vacuumed by a count of dead rows', async () => {
  const { rows } = await bench.pool.query<{ name: string; options: string[] }>(
    `select c.relname as name, c.reloptions as options from pg_class c
     where c.oid in ('posthorn.delivery'::regclass, 'posthorn.lane'::regclass) order by 1`,
  )
  expect(rows[0]!.options).toEqual(
    expect.arrayContaining(['fillfactor=80', 'autovacuum_vacuum_scale_factor=0', 'autovacuum_vacuum_threshold=5000']),
  )
  expect(rows[1]!.options).toContain('fillfactor=50')
})

test('events and attempts are partitioned by the id of the event, whose time it carries', async () => {
  const { rows } = await bench.pool.query(
    `select p.partrelid::regclass::text as table, pg_get_partkeydef(p.partrelid) as key from pg_partitioned_table p
     join pg_class c on c.oid = p.partrelid where c.relnamespace = 'posthorn'::regnamespace order by 1`,
  )
  expect(rows).toEqual([
    { table: 'posthorn.attempt', key: 'RANGE (event_id)' },
    { table: 'posthorn.event', key: 'RANGE (id)' },
  ])
})

test('the time of a UUIDv7 in SQL is its time, and ids of one moment lie above the least of it', async () => {
  const { rows } = await bench.pool.query<{ off: number; above: boolean; version: string }>(
    `select max(abs(extract(epoch from posthorn.uuid_time(id) - at)))::double precision as off,
       bool_and(id >= posthorn.uuid_floor(at) and id < posthorn.uuid_floor(at + interval '1 millisecond')) as above,
       string_agg(distinct substr(id::text, 15, 1), '') as version
     from (
       select at, posthorn.uuid_v7(at) as id
       from generate_series('2024-02-29 23:59:59.9+00'::timestamptz, '2024-03-01 00:00:00.1+00', interval '7 milliseconds') at
     ) x`,
  )
  expect(rows[0]!.off).toBeLessThan(0.0011)
  expect(rows[0]).toMatchObject({ above: true, version: '7' })
})

test('what stands in the product database may be run by nobody to whom it was not granted', async () => {
  const { rows } = await bench.pool.query(
    `select p.oid::regprocedure::text as name from pg_proc p
     where p.pronamespace = 'posthorn'::regnamespace and has_function_privilege('public', p.oid, 'execute') order by 1`,
  )
  expect(rows).toEqual([])
})
