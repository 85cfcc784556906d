import { setTimeout as sleep } from 'node:timers/promises'
import { cancel, readJob, redeliver, stopJob, workOnJob } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { leasesOf, randomOf, settle, settlementOf, useBench } from './claim-fixture.ts'
import { addEvents, addReceiver, log, owedTo, paceOf, recover, workUntil } from './job-fixture.ts'

/* What was owed again is counted outside of the database, by whoever sends it. */

const bench = useBench(30)

async function anyRunning(): Promise<boolean> {
  const { rows } = await bench.pool.query<{ left: boolean }>(
    `select exists (select from posthorn.job where status = 'running') as left`,
  )
  return rows[0]!.left
}

/** A batch whose connection is cut at some moment of it. @returns whether it was cut off */
async function cutOff(limit: number, afterMs: number): Promise<boolean> {
  const pool = bench.poolOf(1)
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const working = workOnJob(pool, paceOf(limit)).then(
    () => false,
    () => true,
  )
  await sleep(afterMs)
  await bench.pool.query('select pg_terminate_backend($1)', [rows[0]!.pid])
  return working
}

/** Batches of all jobs, by so many at once, until none is left. A share of them is cut off. @returns how many were */
async function work(count: number, limit: number, cutShare = 0): Promise<number> {
  let cuts = 0
  async function worker(at: number): Promise<void> {
    const random = randomOf(at + 1)
    const pool = bench.poolOf(1)
    while (await anyRunning()) {
      if (random() < cutShare) {
        if (await cutOff(limit, random() * 8)) cuts++
        // It was put off for a second.
        await bench.pool.query(`update posthorn.job set next_at = now() where status = 'running'`)
      } else if ((await workOnJob(pool, paceOf(limit))) === null) await sleep(1)
    }
  }
  await Promise.all(Array.from({ length: count }, (_, at) => worker(at)))
  return cuts
}

/** Sends what is owed to an endpoint until told to end, and counts how often it had each event. */
function receiverOf(endpoint: string): { counts: Map<string, number>; end(): Promise<void> } {
  const counts = new Map<string, number>()
  let ending = false
  async function run(): Promise<void> {
    for (;;) {
      const last = ending
      const leases = await leasesOf(bench, [endpoint], { limit: 20 })
      for (const { eventId } of leases) counts.set(eventId, (counts.get(eventId) ?? 0) + 1)
      if (leases.length > 0) {
        await settle(
          bench.pool,
          leases.map((lease) => settlementOf(lease)),
        )
      } else if (last) return
    }
  }
  const running = run()
  return {
    counts,
    end() {
      ending = true
      return running
    },
  }
}

test('two recoveries of one endpoint at once, by four who are cut off at random: each event comes once', async () => {
  const receiver = await addReceiver(bench.pool)
  const { tenant, endpoint } = receiver
  const failed = await addEvents(bench.pool, tenant, 1_000, { agoMs: 90_000 })
  const missed = await addEvents(bench.pool, tenant, 1_000, { agoMs: 80_000 })
  const fine = await addEvents(bench.pool, tenant, 300, { agoMs: 70_000 })
  await log(bench.pool, endpoint, failed, { number: 2 })
  await log(bench.pool, endpoint, fine, { state: 4, outcome: 1, reason: null })
  const jobs = [await recover(bench.pool, receiver), await recover(bench.pool, receiver)]
  const received = receiverOf(endpoint)
  const cuts = await work(4, 40, 0.4)
  await received.end()
  expect(cuts).toBeGreaterThan(3)
  expect([...received.counts.keys()].sort()).toEqual([...failed, ...missed].sort())
  expect(new Set(received.counts.values())).toEqual(new Set([1]))
  const ended = await Promise.all(jobs.map((job) => readJob(bench.pool, job.id, null)))
  expect(ended.map((job) => [job!.status, job!.done])).toEqual([
    ['done', 2_000],
    ['done', 0],
  ])
})

test('beside redeliveries of the same events, none comes again that has been delivered', async () => {
  const receiver = await addReceiver(bench.pool)
  const { tenant, endpoint } = receiver
  const failed = await addEvents(bench.pool, tenant, 600)
  await log(bench.pool, endpoint, failed, {})
  const received = receiverOf(endpoint)
  const jobs = await Promise.all([1, 2].map(() => recover(bench.pool, receiver, { states: ['failed'] })))
  const random = randomOf(7)
  let redelivered = 0
  let working = true
  async function redeliverSome(): Promise<void> {
    while (working) {
      const event = failed[Math.floor(random() * failed.length)]!
      // What has been delivered already would be asked for again.
      if (received.counts.has(event)) await sleep(1)
      else if ((await redeliver(bench.pool, tenant, event, endpoint)) === 'owed') redelivered++
    }
  }
  const redelivering = [redeliverSome(), redeliverSome()]
  await work(2, 30)
  working = false
  await Promise.all(redelivering)
  await received.end()
  const sum = [...received.counts.values()].reduce((all, count) => all + count, 0)
  const done = (await Promise.all(jobs.map((job) => readJob(bench.pool, job.id, null)))).reduce(
    (all, job) => all + job!.done,
    0,
  )
  expect(received.counts.size).toBe(failed.length)
  // Whatever a recovery did not owe was owed by a redelivery: nothing came of itself.
  expect(sum).toBeLessThanOrEqual(done + redelivered)
  expect(done).toBeLessThanOrEqual(failed.length)
  expect(sum - redelivered).toBeLessThanOrEqual(failed.length)
})

test('once a stop is answered, nothing is owed any more', async () => {
  const receiver = await addReceiver(bench.pool, { status: 1 })
  const events = await addEvents(bench.pool, receiver.tenant, 2_000)
  const { id } = await recover(bench.pool, receiver)
  const worker = bench.poolOf(1)
  await workUntil(worker, id, 10)
  let working = true
  const running = (async () => {
    while (working) if ((await workOnJob(worker, paceOf(10))) === null) await sleep(1)
  })()
  await sleep(20)
  const stopped = await stopJob(bench.pool, id, null)
  expect(stopped).toMatchObject({ status: 'stopped', total: 2_000, error: null })
  expect(stopped!.endedAt).not.toBeNull()
  const owed = await owedTo(bench.pool, receiver.endpoint)
  expect(owed.map((row) => row.event_id)).toEqual(events.slice(0, stopped!.done))
  expect(stopped!.done).toBeLessThan(2_000)
  await sleep(50)
  working = false
  await running
  expect(await owedTo(bench.pool, receiver.endpoint)).toHaveLength(stopped!.done)
  expect(await stopJob(bench.pool, id, null)).toEqual(stopped)
  await bench.pool.query('delete from posthorn.delivery')
})

test('what somebody cancels meanwhile stays canceled, and what ends meanwhile is counted by nobody twice', async () => {
  const receiver = await addReceiver(bench.pool, { status: 1 })
  const { tenant, endpoint } = receiver
  const events = await addEvents(bench.pool, tenant, 400)
  const { id } = await recover(bench.pool, receiver)
  const canceled = new Set<string>()
  const canceling = (async () => {
    for (;;) {
      const { rows } = await bench.pool.query<{ event_id: string }>(
        'select event_id from posthorn.delivery where endpoint_id = $1 order by ticket desc limit 5',
        [endpoint],
      )
      for (const { event_id } of rows) {
        if ((await cancel(bench.pool, tenant, event_id, endpoint)) === 'canceled') canceled.add(event_id)
      }
      if ((await readJob(bench.pool, id, null))!.status !== 'running') return
    }
  })()
  await work(2, 10)
  await canceling
  expect(await readJob(bench.pool, id, null)).toMatchObject({ status: 'done', done: 400, total: 400 })
  const owed = (await owedTo(bench.pool, endpoint)).map((row) => row.event_id)
  expect(canceled.size).toBeGreaterThan(0)
  expect(owed).toEqual(events.filter((event) => !canceled.has(event)))
})

test('a batch that fails is put off, again and again, and then the job is given up', async () => {
  const receiver = await addReceiver(bench.pool)
  await addEvents(bench.pool, receiver.tenant, 10)
  const { id } = await recover(bench.pool, receiver)
  await bench.pool.query(`update posthorn.job set position = '{"phase": "owe", "at": "nowhere"}' where id = $1`, [id])
  const rests: number[] = []
  for (let turn = 0; turn < 15; turn++) {
    await expect(workOnJob(bench.pool, paceOf(10))).rejects.toThrow()
    const { rows } = await bench.pool.query<{ s: number }>(
      'select extract(epoch from next_at - clock_timestamp())::float8 as s from posthorn.job where id = $1',
      [id],
    )
    rests.push(Math.round(rests.length === 14 ? 0 : rows[0]!.s))
    expect(await workOnJob(bench.pool, paceOf(10))).toBeNull()
    await bench.pool.query('update posthorn.job set next_at = now() where id = $1', [id])
  }
  expect(rests.slice(0, 5)).toEqual([1, 2, 4, 8, 16])
  expect(await readJob(bench.pool, id, null)).toMatchObject({ status: 'failed', error: 'internal', done: 0 })
})
