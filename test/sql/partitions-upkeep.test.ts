import { createClient } from '@posthorn/core/db'
import { dropExpiredPartitions, makePartitionsAhead, readEventsToSend } from '@posthorn/core/sql'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/wait.ts'
import { addLane, leasesOf, loggedAt, owe, settle, settlementOf, useBench } from './claim-fixture.ts'

const bench = useBench()

const dayMs = 86_400_000
const retentionMs = 30 * dayMs

async function partitions(): Promise<string[]> {
  const { rows } = await bench.pool.query<{ child: string }>(
    `select c.relname as child from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('posthorn.event'::regclass, 'posthorn.attempt'::regclass) order by 1`,
  )
  return rows.map((row) => row.child)
}

async function tables(): Promise<string[]> {
  const { rows } = await bench.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relnamespace = 'posthorn_partitions'::regnamespace and c.relkind = 'r'
     order by 1`,
  )
  return rows.map((row) => row.name)
}

/** The partitions of a day in the past, as they were made in its time. @returns the day as they have it in their names */
async function makeDay(daysAgo: number): Promise<string> {
  const { rows } = await bench.pool.query<{ day: string; low: string; high: string }>(
    `select to_char(d, 'YYYYMMDD') as day, posthorn.uuid_floor(d::timestamp at time zone 'UTC') as low,
       posthorn.uuid_floor((d + 1)::timestamp at time zone 'UTC') as high
     from (select (now() at time zone 'UTC')::date - $1::integer as d) x`,
    [daysAgo],
  )
  const { day, low, high } = rows[0]!
  for (const parent of ['event', 'attempt']) {
    await bench.pool.query(`create table posthorn_partitions.${parent}_${day} (like posthorn.${parent} including all)`)
    await bench.pool.query(
      `alter table posthorn.${parent} attach partition posthorn_partitions.${parent}_${day} for values from ('${low}') to ('${high}')`,
    )
  }
  return day
}

/** An event of a day in the past, delivered then. */
async function deliveredEvent(lane: string, daysAgo: number): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into posthorn.event (id, tenant_id, type, deliveries, payload)
     values (posthorn.uuid_v7(now() - $2::integer * interval '1 day'), $1, 'a.b', 1, 'old') returning id`,
    [lane, daysAgo],
  )
  const { id } = rows[0]!
  await bench.pool.query(
    `insert into posthorn.attempt (event_id, endpoint_id, id, number, outcome, state, started_at, ended_at)
     values ($1, $2, gen_random_uuid(), 1, 1, 4, now(), now())`,
    [id, lane],
  )
  return id
}

async function dropExpired(waitMs?: number): Promise<string[]> {
  const client = createClient(bench.database.url, 'test upkeep')
  await client.connect()
  try {
    return await dropExpiredPartitions(client, retentionMs, waitMs)
  } finally {
    await client.end()
  }
}

test('there is a partition for each day up to two weeks ahead, none for all others, and making them again makes none', async () => {
  const { rows } = await bench.pool.query<{ day: string }>(
    `select to_char(d, 'YYYYMMDD') as day
     from generate_series((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 14, interval '1 day') d`,
  )
  const made = new Set(await partitions())
  for (const { day } of rows) {
    expect(made).toContain(`event_${day}`)
    expect(made).toContain(`attempt_${day}`)
  }
  const { rows: defaults } = await bench.pool.query('select from pg_partitioned_table where partdefid <> 0')
  expect(defaults).toHaveLength(0)
  expect(await makePartitionsAhead(bench.pool, 15)).toBe(0)
})

test('partitions are made within a second while transactions that have published or read are open', async () => {
  const lane = await addLane(bench.pool)
  const open = [await bench.pool.connect(), await bench.pool.connect()]
  onTestFinished(() => {
    for (const client of open) client.release(true)
  })
  await open[0]!.query('begin')
  await owe(open[0]!, lane)
  await open[1]!.query('begin isolation level repeatable read')
  await open[1]!.query('select count(*) from posthorn.event; select count(*) from posthorn.attempt')
  const before = (await partitions()).length
  const startedAt = performance.now()
  expect(await makePartitionsAhead(bench.pool, 18)).toBe(6)
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  expect((await partitions()).length).toBe(before + 6)
  // And the publisher goes on.
  await owe(open[0]!, lane)
  await open[0]!.query('commit')
})

test('the indexes of a partition are those of its parent', async () => {
  const { rows } = await bench.pool.query<{ table: string; n: number }>(
    `select c.relname as table, count(*)::integer as n from pg_inherits i join pg_class c on c.oid = i.inhrelid
     join pg_index x on x.indrelid = c.oid and x.indisvalid
     where i.inhparent in ('posthorn.event'::regclass, 'posthorn.attempt'::regclass) group by 1 having count(*) <> 2`,
  )
  expect(rows).toEqual([])
})

test('only whole days past retention are dropped', async () => {
  const kept = await makeDay(30)
  const gone = await makeDay(31)
  expect((await dropExpired()).sort()).toEqual([`attempt_${gone}`, `event_${gone}`])
  expect(await partitions()).toContain(`event_${kept}`)
  expect(await tables()).not.toContain(`event_${gone}`)
  expect(await dropExpired()).toEqual([])
})

test('nothing is dropped that is as old as the oldest event still owed, or younger', async () => {
  const [oldest, owed, younger] = [await makeDay(50), await makeDay(45), await makeDay(40)]
  const lane = await addLane(bench.pool)
  const id = await deliveredEvent(lane, 45)
  await bench.pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
     values ($1, $2, nextval('posthorn.ticket'), now(), now(), 2)`,
    [id, lane],
  )
  expect((await dropExpired()).sort()).toEqual([`attempt_${oldest}`, `event_${oldest}`])
  await bench.pool.query('delete from posthorn.delivery where event_id = $1', [id])
  expect((await dropExpired()).sort()).toEqual(
    [owed, younger].flatMap((day) => [`attempt_${day}`, `event_${day}`]).sort(),
  )
})

test('a detach that waits for a transaction is given up in time, keeps nobody up, and is finished later', async () => {
  const day = await makeDay(60)
  const reader = await bench.pool.connect()
  onTestFinished(() => reader.release(true))
  await reader.query('begin isolation level repeatable read')
  await reader.query('select count(*) from posthorn.attempt')
  await expect(dropExpired(300)).rejects.toMatchObject({ code: '57014' })
  const { rows } = await bench.pool.query(
    `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhdetachpending`,
  )
  expect(rows).toEqual([{ relname: `attempt_${day}` }])
  expect(await makePartitionsAhead(bench.pool, 20)).toBeGreaterThan(0)
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  await settle(
    bench.pool,
    (await leasesOf(bench, [lane])).map((lease) => settlementOf(lease)),
  )
  expect(await loggedAt(bench.pool, [lane])).toHaveLength(1)
  await expect(dropExpired(300)).rejects.toMatchObject({ code: '57014' })
  await reader.query('rollback')
  expect((await dropExpired()).sort()).toEqual([`attempt_${day}`, `event_${day}`])
})

test('an event that a redelivery makes owed while its partition is detached keeps its payload and its log', async () => {
  const day = await makeDay(70)
  const lane = await addLane(bench.pool)
  const id = await deliveredEvent(lane, 70)
  const client = await bench.pool.connect()
  onTestFinished(() => client.release(true))
  await client.query('begin')
  // What a redelivery reads and writes, whose commit is slow.
  await client.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, attempts, state)
     select e.id, $2, nextval('posthorn.ticket'), now(), now(), a.number, 0
     from posthorn.event e join posthorn.attempt a on a.event_id = e.id and a.endpoint_id = $2 where e.id = $1`,
    [id, lane],
  )
  const dropping = dropExpired(20_000)
  await eventually(async () => {
    const { rows } = await bench.pool.query(
      `select from pg_stat_activity where application_name = 'test upkeep' and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }, 5_000)
  await client.query('commit')
  expect(await dropping).toEqual([])
  expect(await partitions()).toEqual(expect.arrayContaining([`attempt_${day}`, `event_${day}`]))
  expect((await readEventsToSend(bench.pool, [id])).get(id)?.payload.toString()).toBe('old')
  const [lease] = await leasesOf(bench, [lane])
  expect(lease).toMatchObject({ eventId: id, number: 2 })
  await settle(bench.pool, [settlementOf(lease!)])
  expect((await loggedAt(bench.pool, [lane])).map((row) => row.number)).toEqual([1, 2])
  expect((await dropExpired()).sort()).toEqual([`attempt_${day}`, `event_${day}`])
})

test('a table left behind by a process that died is dropped; a stranger in the schema is not', async () => {
  const day = await makeDay(80)
  await bench.pool.query(`alter table posthorn.event detach partition posthorn_partitions.event_${day}`)
  await bench.pool.query('create table posthorn_partitions.event_notes (id integer)')
  await bench.pool.query('create table posthorn_partitions.event_2020 (id integer)')
  expect((await dropExpired()).sort()).toEqual([`attempt_${day}`, `event_${day}`])
  expect(await tables()).toEqual(expect.arrayContaining(['event_2020', 'event_notes']))
})

test('two processes at once: one drops, the other leaves it to that one', async () => {
  const days = [await makeDay(90), await makeDay(91), await makeDay(92)]
  const dropped = (await Promise.all([dropExpired(), dropExpired(), dropExpired()])).flat()
  dropped.push(...(await dropExpired()))
  expect(dropped.sort()).toEqual(days.flatMap((day) => [`attempt_${day}`, `event_${day}`]).sort())
})
