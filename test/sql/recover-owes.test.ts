import { setTimeout as sleep } from 'node:timers/promises'
import {
  countRecoverable,
  idBounds,
  type RecoverState,
  readJob,
  redeliver,
  startRecovery,
  workOnJob,
} from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { leasesOf, settle, settlementOf, useBench } from './claim-fixture.ts'
import {
  addEvents,
  addReceiver,
  batches,
  before,
  contents,
  finish,
  log,
  owedTo,
  recover,
  workUntil,
} from './job-fixture.ts'

const bench = useBench()

const ids = (rows: readonly { event_id: string }[]): string[] => rows.map((row) => row.event_id)

/** One endpoint with events of each fate, 4 of a kind. */
async function fates() {
  const receiver = await addReceiver(bench.pool)
  const { tenant, endpoint } = receiver
  const of = async (): Promise<string[]> => addEvents(bench.pool, tenant, 4)
  const [failed, canceled, missed, succeeded, owed, again] = [
    await of(),
    await of(),
    await of(),
    await of(),
    await of(),
    await of(),
  ]
  await log(bench.pool, endpoint, failed, { number: 3 })
  await log(bench.pool, endpoint, canceled, { state: 6, outcome: 0, number: 0, reason: 'endpoint_disabled' })
  await log(bench.pool, endpoint, succeeded, { state: 4, outcome: 1, reason: null })
  // Failed once, and owed again since.
  await log(bench.pool, endpoint, owed, {})
  for (const event of owed) await redeliver(bench.pool, tenant, event, endpoint)
  // Failed, canceled, and delivered in the end.
  await log(bench.pool, endpoint, again, {})
  await log(bench.pool, endpoint, again, { state: 6, outcome: 0 })
  await log(bench.pool, endpoint, again, { state: 4, outcome: 1, number: 2 })
  return { receiver, failed, canceled, missed, owed }
}

test.each<{ states: RecoverState[] }>([
  { states: ['failed'] },
  { states: ['canceled'] },
  { states: ['missed'] },
  { states: ['failed', 'canceled'] },
  { states: ['failed', 'missed'] },
  { states: ['failed', 'canceled', 'missed'] },
])('$states is owed again, once, in publish order behind what is owed, and nothing else', async ({ states }) => {
  const { receiver, owed, ...kinds } = await fates()
  const wanted = states.flatMap((state) => kinds[state]).sort()
  const { id } = await recover(bench.pool, receiver, { states })
  const job = await finish(bench.pool, id, 3)
  expect(job).toMatchObject({ status: 'done', total: wanted.length, done: wanted.length, error: null })
  const rows = await owedTo(bench.pool, receiver.endpoint)
  expect(ids(rows)).toEqual([...owed, ...wanted])
  // Again: they are owed already.
  expect(await finish(bench.pool, (await recover(bench.pool, receiver, { states })).id)).toMatchObject({
    done: 0,
    total: 0,
  })
  expect(await owedTo(bench.pool, receiver.endpoint)).toHaveLength(owed.length + wanted.length)
})

test('it is a fresh start under the same id: schedule and age from now, attempts numbered on from the highest', async () => {
  const receiver = await addReceiver(bench.pool)
  const [event] = await addEvents(bench.pool, receiver.tenant, 1, { agoMs: 3_000_000 })
  await log(bench.pool, receiver.endpoint, [event!], { number: 7 })
  // What came back after its lease was lost decides nothing, but its number is used.
  await log(bench.pool, receiver.endpoint, [event!], { state: 0, outcome: 4, number: 8, reason: null })
  await finish(bench.pool, (await recover(bench.pool, receiver)).id)
  const [row] = await owedTo(bench.pool, receiver.endpoint)
  expect(row).toMatchObject({ event_id: event, attempts: 8, step: 0, state: 0 })
  expect(Math.abs(row!.owed_ms)).toBeLessThan(60_000)
  const [lease] = await leasesOf(bench, [receiver.endpoint])
  expect(lease).toMatchObject({ eventId: event, number: 9 })
  expect(lease!.ageMs).toBeLessThan(60_000)
  await settle(bench.pool, [settlementOf(lease!)])
  expect(await finish(bench.pool, (await recover(bench.pool, receiver)).id)).toMatchObject({ total: 0, done: 0 })
})

test('missed is what the filter that the endpoint has now would take, and no test of another endpoint', async () => {
  const receiver = await addReceiver(bench.pool, { eventTypes: ['invoice.*', 'user.made'], channels: ['eu', 'us'] })
  const { tenant, endpoint } = receiver
  const take = (type: string, channels: string[] | null) => addEvents(bench.pool, tenant, 1, { type, channels })
  const wanted = [
    ...(await take('invoice.paid', ['eu'])),
    ...(await take('invoice.paid.late', ['asia', 'us'])),
    ...(await take('user.made', ['us'])),
  ]
  for (const [type, channels] of [
    ['invoice', ['eu']],
    ['user.made.twice', ['eu']],
    ['invoice.paid', ['asia']],
    ['invoice.paid', null],
  ] as const) {
    await take(type, channels === null ? null : [...channels])
  }
  const other = await addReceiver(bench.pool, { tenant })
  for (const id of [other.endpoint, endpoint]) {
    await bench.pool.query(`select posthorn.publish_test($1, $2, 'invoice.paid', '1')`, [id, tenant])
  }
  await bench.pool.query('update posthorn.event set channels = $2 where tenant_id = $1 and only_to is not null', [
    tenant,
    ['eu'],
  ])
  const already = ids(await owedTo(bench.pool, endpoint))
  expect(already).toHaveLength(1)
  await finish(bench.pool, (await recover(bench.pool, receiver, { states: ['missed'] })).id)
  expect(ids(await owedTo(bench.pool, endpoint)).sort()).toEqual([...already, ...wanted].sort())
})

test('what a filter over the payload leaves out is not missed; what failed before it was set is owed again', async () => {
  const filter = { path: '/plan', equals: 'pro' }
  const receiver = await addReceiver(bench.pool, { filter, eventTypes: ['a.*'] })
  const { tenant, endpoint } = receiver
  const add = (payload: string, type = 'a.b') => addEvents(bench.pool, tenant, 2, { payload, type })
  const wanted = [...(await add('{"plan":"pro"}')), ...(await add(String.raw`{"note":"\u0000","plan":"pro"}`))]
  for (const payload of ['{"plan":"free"}', '{}', '[]', '{"plan":["pro"]}', '{"plan":"pro","n":1e200000}'])
    await add(payload)
  await add('{"plan":"pro"}', 'other')
  const failed = await add('{"plan":"free"}')
  await log(bench.pool, endpoint, failed, {})
  const succeeded = await add('{"plan":"pro"}')
  await log(bench.pool, endpoint, succeeded, { state: 4, outcome: 1, reason: null })
  const { low } = idBounds({ since: before(3_600_000) })
  const { low: high } = idBounds({ since: new Date() })
  const range = { tenantId: tenant, endpointId: endpoint, states: ['failed', 'missed'] as const, low, high }
  expect(await countRecoverable(bench.pool, range, { budgetMs: 10_000 })).toMatchObject({ failed: 2, missed: 4 })
  const job = await recover(bench.pool, receiver, { states: ['failed', 'missed'] })
  expect(await finish(bench.pool, job.id, 3)).toMatchObject({ status: 'done', total: 6, done: 6 })
  expect(ids(await owedTo(bench.pool, endpoint)).sort()).toEqual([...wanted, ...failed].sort())
})

test('payloads that a filter looks into make steps shorter, and pass over nothing', async () => {
  const filter = { path: '/plan', equals: 'pro' }
  const receiver = await addReceiver(bench.pool, { filter })
  const payloadOf = (plan: string) => JSON.stringify({ plan, text: 'x'.repeat(900_000) })
  const wanted: string[] = []
  // Each two a millisecond apart from the next two, so that they take turns.
  for (let n = 0; n < 8; n++) {
    const agoMs = 60_000 - n * 10
    wanted.push(...(await addEvents(bench.pool, receiver.tenant, 1, { payload: payloadOf('pro'), agoMs })))
    await addEvents(bench.pool, receiver.tenant, 1, { payload: payloadOf('free'), agoMs: agoMs - 5 })
  }
  const { id } = await recover(bench.pool, receiver, { states: ['missed'] })
  const looked: number[] = []
  const pace = { limit: () => 500, rest: (_: string, batch: { looked: number }) => looked.push(batch.looked) && 0 }
  while ((await readJob(bench.pool, id, null))?.status === 'running') await workOnJob(bench.pool, pace)
  // Three are some 2 MiB; counted, they weigh a third.
  expect(Math.max(...looked)).toBe(3)
  expect(looked.length).toBeGreaterThanOrEqual(12)
  expect(await readJob(bench.pool, id, null)).toMatchObject({ status: 'done', total: 8, done: 8 })
  expect(ids(await owedTo(bench.pool, receiver.endpoint))).toEqual(wanted)
})

test('what is to be delivered later still is', async () => {
  const receiver = await addReceiver(bench.pool)
  const { tenant, endpoint } = receiver
  const [missed, canceled] = await addEvents(bench.pool, tenant, 2, { deliverInMs: 3_600_000 })
  await log(bench.pool, endpoint, [canceled!], { state: 6, outcome: 0, number: 0 })
  await finish(bench.pool, (await recover(bench.pool, receiver)).id)
  const rows = await owedTo(bench.pool, endpoint)
  expect(ids(rows)).toEqual([missed, canceled])
  for (const row of rows) {
    expect(row.state).toBe(2)
    expect(row.due_ms).toBeGreaterThan(3_000_000)
    expect(row.owed_ms).toBeGreaterThan(3_000_000)
  }
})

test('only events of the range, by their creation, over midnight too; and of the tenant', async () => {
  const receiver = await addReceiver(bench.pool)
  const other = await addReceiver(bench.pool)
  const { tenant, endpoint } = receiver
  const day = 86_400_000
  const midnight = Math.floor(Date.now() / day) * day
  // Right after it, what lies behind it is still to come.
  await sleep(Math.max(0, midnight + 5_000 - Date.now()))
  const old = await addEvents(bench.pool, tenant, 3, { agoMs: Date.now() - (midnight - 7_200_000) })
  const late = await addEvents(bench.pool, tenant, 3, { agoMs: Date.now() - (midnight - 600_000) })
  const early = await addEvents(bench.pool, tenant, 3, { agoMs: Date.now() - (midnight + 1_000) })
  await addEvents(bench.pool, other.tenant, 3)
  await log(bench.pool, endpoint, [...old, ...late], { state: 6, outcome: 0, number: 0 })
  const since = new Date(midnight - 3_600_000)
  const until = new Date(midnight + 2_000)
  await finish(bench.pool, (await recover(bench.pool, receiver, { since, until })).id, 2)
  expect(ids(await owedTo(bench.pool, endpoint))).toEqual([...late, ...early])
  // `until` is exclusive, `since` inclusive, to the millisecond.
  const edge = await addReceiver(bench.pool, { tenant })
  const at = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  const span = { since: new Date(at(late[1]!)), until: new Date(at(late[2]!)) }
  await finish(bench.pool, (await recover(bench.pool, edge, span)).id)
  expect(ids(await owedTo(bench.pool, edge.endpoint))).toEqual([late[1]])
})

test('a dry run counts what a recovery then does, and writes nothing', async () => {
  const { receiver, failed, canceled, missed } = await fates()
  const range = {
    tenantId: receiver.tenant,
    endpointId: receiver.endpoint,
    states: ['failed', 'canceled', 'missed'] as const,
    low: idBounds({ since: before(3_600_000) }).low,
    high: idBounds({ since: before(-1) }).low,
  }
  const former = await contents(bench.pool)
  const counted = await countRecoverable(bench.pool, range, { budgetMs: 10_000, limit: 3 })
  expect(counted).toEqual({ failed: failed.length, canceled: canceled.length, missed: missed.length, next: null })
  expect(await contents(bench.pool)).toEqual(former)
  // What it opens is a transaction that cannot write.
  const job = await finish(bench.pool, (await recover(bench.pool, receiver)).id)
  expect(job.done).toBe(12)
})

test('a dry run whose time is up says where it ended', async () => {
  const { receiver } = await fates()
  const range = { ...receiver, tenantId: receiver.tenant, endpointId: receiver.endpoint, states: ['missed'] as const }
  const low = idBounds({ since: before(3_600_000) }).low
  const high = idBounds({ since: before(-1) }).low
  expect(await countRecoverable(bench.pool, { ...range, low, high }, { budgetMs: 0 })).toMatchObject({ next: low })
})

test('an endpoint that is disabled or deleted meanwhile is owed no more, and the job says why', async () => {
  for (const [status, reason] of [
    [2, 'endpoint_disabled'],
    [3, 'endpoint_deleted'],
  ] as const) {
    const receiver = await addReceiver(bench.pool)
    const { tenant, endpoint } = receiver
    const events = await addEvents(bench.pool, tenant, 30)
    const { id } = await recover(bench.pool, receiver)
    await workUntil(bench.pool, id, 10)
    expect(ids(await owedTo(bench.pool, endpoint))).toEqual(events.slice(0, 10))
    await bench.pool.query('update posthorn.lane set status = $2 where endpoint_id = $1', [endpoint, status])
    expect(await finish(bench.pool, id, 10)).toMatchObject({ status: 'failed', error: reason, done: 10, total: 30 })
    expect(ids(await owedTo(bench.pool, endpoint))).toEqual(events.slice(0, 10))
    expect(
      await startRecovery(bench.pool, {
        tenantId: tenant,
        endpointId: endpoint,
        states: ['failed'],
        since: before(1),
        until: null,
      }),
    ).toBe(reason)
    await bench.pool.query('delete from posthorn.delivery')
  }
})

test('a paused endpoint is owed, and waits', async () => {
  const receiver = await addReceiver(bench.pool, { status: 1 })
  await addEvents(bench.pool, receiver.tenant, 5)
  expect(await finish(bench.pool, (await recover(bench.pool, receiver)).id)).toMatchObject({ status: 'done', done: 5 })
  expect(await leasesOf(bench, [receiver.endpoint])).toEqual([])
})

test('a filter that is changed meanwhile holds for the batches that follow', async () => {
  const receiver = await addReceiver(bench.pool, { eventTypes: ['a.b'] })
  const { tenant, endpoint } = receiver
  const first = await addEvents(bench.pool, tenant, 10, { agoMs: 60_000 })
  const second = await addEvents(bench.pool, tenant, 10, { type: 'c.d', agoMs: 50_000 })
  await addEvents(bench.pool, tenant, 10, { agoMs: 40_000 })
  const last = await addEvents(bench.pool, tenant, 10, { type: 'c.d', agoMs: 30_000 })
  const { id } = await recover(bench.pool, receiver)
  await workUntil(bench.pool, id, 10)
  expect(ids(await owedTo(bench.pool, endpoint))).toEqual(first)
  await bench.pool.query(`update posthorn.endpoint set event_types = '{c.d}' where id = $1`, [endpoint])
  expect(await finish(bench.pool, id, 10)).toMatchObject({ status: 'done', total: 20, done: 30 })
  expect(ids(await owedTo(bench.pool, endpoint))).toEqual([...first, ...second, ...last])
})

test('what another tenant names is not there', async () => {
  const mine = await addReceiver(bench.pool)
  const other = await addReceiver(bench.pool)
  const request = { endpointId: mine.endpoint, states: ['failed'] as const, since: before(1), until: null }
  expect(await startRecovery(bench.pool, { ...request, tenantId: other.tenant })).toBe('endpoint_missing')
})

test('so many recoveries of one endpoint wait for each other, and no more', async () => {
  const receiver = await addReceiver(bench.pool)
  const jobs = []
  for (let at = 0; at < 10; at++) jobs.push((await recover(bench.pool, receiver)).id)
  await expect(recover(bench.pool, receiver)).rejects.toThrow('too_many')
  // One after another, in the order in which they were asked for.
  const order: string[] = []
  for (const step of await batches(bench.pool, 20, 10)) if (step.status === 'done') order.push(step.id)
  expect(order).toEqual(jobs)
})
