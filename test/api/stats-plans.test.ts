import { createPool, type Pool } from '@posthorn/core/db'
import { countEndpointAttempts, listEvents, readBacklogOf, readOldestDue, walkEventsOfType } from '@posthorn/core/sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Captured, createCapture, type PlanNode } from '../sql/plans-capture.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/*
 * The figures must cost what they look at, whatever the planner believes of the tables: here it believes that one lane of one
 * tenant is all there is.
 */

const mine = '00000000-0000-7000-8000-000000000001'
const others = '00000000-0000-7000-8000-000000000002'

let database: TestDatabase
let pool: Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = createPool({ connectionString: database.url, max: 2, applicationName: 'test', onError: () => {} })
  const { rows: tables } = await pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace in ('posthorn'::regnamespace, 'posthorn_partitions'::regnamespace)`,
  )
  for (const { name } of tables) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`)
  await pool.query(
    `insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms) select id, 'mine', 20, 1000 from unnest($1::uuid[]) id`,
    [[mine, others]],
  )
  await fill('mine', mine, 100)
  await pool.query('analyze')
  await fill('others', others, 20_000)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Events, each with an attempt; and deliveries of each state, all due. */
async function fill(tenant: string, endpoint: string, count: number): Promise<void> {
  await pool.query(
    `with made as (
       insert into posthorn.event (id, tenant_id, type, deliveries, payload)
       select posthorn.uuid_v7(now() - n * interval '1 ms'), $1, 'a', 1, '1' from generate_series(1, $3::integer) n returning id
     )
     insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at, duration_ms)
     select made.id, $2, gen_random_uuid(), 1, 1, 4, now(), now(), 5 from made`,
    [tenant, endpoint, count],
  )
  await pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
     select gen_random_uuid(), $1, nextval('posthorn.ticket'), now(), now(), n % 4 from generate_series(0, $2::integer - 1) n`,
    [endpoint, count],
  )
}

describe.each(['force_generic_plan', 'force_custom_plan'])('with stale statistics, %s', (plans) => {
  let capture: Captured
  beforeAll(() => {
    capture = createCapture(database.url, { plan_cache_mode: plans })
  })
  afterAll(() => capture.close())

  /** The scans that were run, and the rows that they read and threw away. */
  async function scans(): Promise<{ index: string; rows: number; removed: number }[]> {
    const nodes = (await capture.take()).flatMap((plan) => plan.nodes)
    const ran = nodes.filter((node) => node['Actual Loops'] !== 0 && /^(delivery|event|attempt)/.test(tableOf(node)))
    expect(ran.map((node) => node['Node Type']).filter((type) => !/^Index/.test(type))).toEqual([])
    return ran.map((node) => ({
      index: node['Index Name'] ?? '',
      rows: (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0),
      removed: node['Rows Removed by Filter'] ?? 0,
    }))
  }

  const tableOf = (node: PlanNode) => node['Relation Name'] ?? ''

  test('attempts are found through the tenant’s events', async () => {
    const oldest = new Date(Date.now() - 86_400_000)
    const query = { tenantId: 'mine', endpointId: mine, since: oldest, until: null, oldest }
    expect((await countEndpointAttempts(capture.pool, query)).succeeded).toBe(100)
    const used = await scans()
    expect(used.length).toBeGreaterThan(0)
    for (const { index, rows, removed } of used) {
      expect(index).toMatch(/^event_\d+_tenant_id_id_idx|^attempt_\d+_pkey/)
      expect(rows).toBeLessThanOrEqual(100)
      expect(removed).toBe(0)
    }
  })

  test('a list of events walks the tenant’s own, and no other’s', async () => {
    const { rows } = await listEvents(capture.pool, { tenantId: 'mine', limit: 20 })
    expect(rows).toHaveLength(20)
    const used = await scans()
    expect(used.length).toBeGreaterThan(0)
    for (const { index, rows, removed } of used) {
      expect(index).toMatch(/^event_\d+_tenant_id_id_idx/)
      expect(rows).toBeLessThanOrEqual(21)
      expect(removed).toBe(0)
    }
  })

  test('the newest events of a type are found from the top of all, some at a time, and without a sort', async () => {
    const { value } = await walkEventsOfType(capture.pool, 'a').next()
    expect(value).toHaveLength(100)
    const plans = await capture.take()
    const nodes = plans.flatMap((plan) => plan.nodes).filter((node) => node['Actual Loops'] !== 0)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort')
    const ran = nodes.filter((node) => /^event/.test(tableOf(node)))
    expect(ran.length).toBeGreaterThan(1)
    for (const node of ran) {
      expect(node['Index Name']).toMatch(/^event_\d+_pkey/)
      expect(node['Actual Rows']).toBeLessThanOrEqual(2_000)
    }
  })

  test('what is owed is counted through the index of its state and lane', async () => {
    expect(await readBacklogOf(capture.pool, mine)).toMatchObject({ pending: 50, scheduled: 25, inFlight: 25 })
    const used = await scans()
    const indexes = ['delivery_held', 'delivery_leased', 'delivery_ready', 'delivery_scheduled_lane']
    expect([...new Set(used.map(({ index }) => index))].sort()).toEqual(indexes)
    for (const { rows, removed } of used) {
      expect(rows).toBeLessThanOrEqual(25)
      expect(removed).toBe(0)
    }
  })

  test('the oldest is found by one probe a lane', async () => {
    expect(await readOldestDue(capture.pool)).not.toBeNull()
    const used = await scans()
    expect([...new Set(used.map(({ index }) => index))].sort()).toEqual(['delivery_ready', 'delivery_scheduled'])
    for (const { rows } of used) expect(rows).toBeLessThanOrEqual(100)
  })
})
