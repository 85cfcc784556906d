import { countRecoverable, idBounds, type RecoverState, startTenantDelete, workOnJob } from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useBench } from './claim-fixture.ts'
import { addEvents, addReceiver, before, finish, log, paceOf, type Receiver, recover } from './job-fixture.ts'
import { type Captured, createCapture } from './plans-capture.ts'

/*
 * A batch must cost what it does, whatever the planner believes of the tables: here it believes them as they were when they held
 * a handful of rows of one tenant.
 */

const batch = 50
const bench = useBench()
let capture: Captured
let receiver: Receiver

beforeAll(async () => {
  const { rows: tables } = await bench.pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  for (const { name } of tables) await bench.pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  receiver = await addReceiver(bench.pool)
  const fill = async ({ tenant, endpoint }: Receiver, count: number): Promise<void> => {
    const failed = await addEvents(bench.pool, tenant, count, { agoMs: 1_800_000 })
    await log(bench.pool, endpoint, failed, {})
    await addEvents(bench.pool, tenant, count, { agoMs: 900_000 })
    await bench.pool.query(
      `insert into posthorn.idempotency_key (tenant_id, key, fingerprint, event_ids, deliveries)
       select $1, gen_random_uuid()::text, '\\x00', '{}', '{}' from generate_series(1, $2::integer) n`,
      [tenant, count],
    )
    await bench.pool.query(
      `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
       select gen_random_uuid(), $1, nextval('posthorn.ticket'), now(), now(), n % 4 from generate_series(1, $2::integer) n`,
      [endpoint, count],
    )
  }
  await fill(receiver, 3)
  await bench.pool.query('analyze')
  const other = await addReceiver(bench.pool)
  await fill(other, 8_000)
  await fill(receiver, 2_000)
  capture = createCapture(bench.database.url, {}, { indexesOnly: true })
})

afterAll(async () => {
  await capture?.close()
})

/** Of each statement since the last call: no node read, compared or threw away more than so many rows. */
async function expectBounded(most: number): Promise<void> {
  const plans = await capture.take()
  expect(plans.length).toBeGreaterThan(0)
  for (const { text, nodes } of plans) {
    for (const node of nodes) {
      const loops = node['Actual Loops'] ?? 0
      const rows = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * loops
      const compared = (node['Rows Removed by Join Filter'] ?? 0) * loops
      const what = `${node['Node Type']} ${node['Index Name'] ?? ''} of ${text.slice(0, 300)}`
      expect(rows, what).toBeLessThanOrEqual(most)
      expect(compared, what).toBeLessThanOrEqual(most)
    }
    // One partition of each, whatever others there are.
    const tables = nodes.map((node) => node['Relation Name'] ?? '').filter((name) => /^(event|attempt)_\d/.test(name))
    if (/"looked"/.test(text)) expect(new Set(tables).size).toBeLessThanOrEqual(2)
  }
}

test.each<{ states: RecoverState[] }>([
  { states: ['failed'] },
  { states: ['missed'] },
  { states: ['failed', 'canceled', 'missed'] },
])('a recovery of $states', async ({ states }) => {
  const range = {
    tenantId: receiver.tenant,
    endpointId: receiver.endpoint,
    states,
    low: idBounds({ since: before(3_600_000) }).low,
    high: idBounds({ since: before(0) }).low,
  }
  await countRecoverable(capture.pool, range, { budgetMs: 30_000, limit: batch })
  await expectBounded(batch * 2)
  await recover(bench.pool, receiver, { states })
  for (let turn = 0; turn < 200; turn++) if ((await workOnJob(capture.pool, paceOf(batch))) === null) break
  // It counts three times as many at once.
  await expectBounded(batch * 3 * 2)
})

test('the deletion of a tenant', async () => {
  await bench.pool.query('delete from posthorn.delivery where endpoint_id = $1', [receiver.endpoint])
  const job = await startTenantDelete(bench.pool, receiver.tenant)
  // To its end, however many turns that takes: it waits for every transaction that is open on the server, those of other files too.
  await finish(capture.pool, job!.id, batch)
  await expectBounded(batch * 2)
  const { rows } = await bench.pool.query('select from posthorn.event where tenant_id = $1', [receiver.tenant])
  expect(rows).toEqual([])
})
