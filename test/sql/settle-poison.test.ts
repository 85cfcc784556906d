import { Writable } from 'node:stream'
import { createLog, encodeId } from '@posthorn/core'
import type { Settlement } from '@posthorn/core/sql'
import { expect, onTestFinished, test } from 'vitest'
import { createSettler } from '../../apps/dispatcher/src/settler.ts'
import { eventually } from '../support/wait.ts'
import { addLane, failed, leasesOf, loggedAt, owe, owedAt, settlementOf, useBench } from './claim-fixture.ts'

const bench = useBench()

type Line = { level: string; msg: string; delivery?: string }

function createTestSettler(pool = bench.pool) {
  const lines: Line[] = []
  const settled: Settlement[] = []
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(chunk.toString()) as Line)
      done()
    },
  })
  const settler = createSettler({
    pool,
    log: createLog('debug', stream),
    isFull: () => false,
    gatherMs: 1,
    disableAfterMs: 432_000_000,
    onSettled: (items) => settled.push(...items),
  })
  return { settler, lines, settled }
}

const error = (message: string) => ({ code: 'reset', phase: 'headers', message })

test.each<[string, Partial<Settlement>, Partial<Settlement>]>([
  ['a NUL in what the receiver sent', { error: error('a\0b') }, { error: error('reset') }],
  ['a number that no column holds', { status: 70_000 }, { status: null }],
  ['a NUL in the address', { url: 'http://x/\0' }, { url: null }],
])('%s costs no other delivery its settle, and that one only what cannot be written', async (_, poison, kept) => {
  const lane = await addLane(bench.pool, { maxInFlight: 100 })
  await owe(bench.pool, lane, 40)
  const leases = await leasesOf(bench, [lane])
  expect(leases).toHaveLength(40)
  const { settler, lines, settled } = createTestSettler()
  for (const [at, lease] of leases.entries()) {
    settler.add(
      at === 17
        ? settlementOf(lease, { ...failed, reason: 'exhausted', responseBody: Buffer.from('x'), ...poison })
        : settlementOf(lease),
    )
  }
  expect(await settler.flush(10_000)).toBe(0)
  expect(settler.pending()).toBe(0)
  expect(settled).toHaveLength(40)
  expect(await owedAt(bench.pool, [lane])).toEqual([])
  const logged = await loggedAt(bench.pool, [lane])
  expect(logged).toHaveLength(40)
  expect(logged.filter((row) => row.outcome === 1)).toHaveLength(39)
  const bad = logged.find((row) => row.event_id === leases[17]!.eventId)!
  expect(bad).toMatchObject({ outcome: 2, state: 5, reason: 'exhausted', response_body: null })
  if ('status' in kept) expect(bad.status).toBe(kept.status)
  expect(bad.error_message).toBe(kept.error?.message ?? null)
  expect(lines.filter((line) => line.level === 'error').map((line) => line.delivery)).toEqual([
    `${encodeId('evt', leases[17]!.eventId)}/${encodeId('ep', leases[17]!.endpointId)}`,
  ])
})

test('half a character in what the receiver sent becomes a mark, and costs nothing else', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const [lease] = await leasesOf(bench, [lane])
  const { settler, lines } = createTestSettler()
  settler.add(settlementOf(lease!, { responseHeaders: '[["x","\ud800"]]', responseBody: Buffer.from('x') }))
  expect(await settler.flush(10_000)).toBe(0)
  const { rows } = await bench.pool.query(
    'select a.response_headers, a.response_body from posthorn.attempt a where a.endpoint_id = $1',
    [lane],
  )
  expect(rows).toEqual([{ response_headers: '[["x","\ufffd"]]', response_body: Buffer.from('x') }])
  expect(lines).toEqual([])
})

test('a delivery whose log has no place any more is refused alone, and said', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 5)
  // A day without a partition, as after a drop that went wrong.
  const day = '00000001-0000-7000-8000-000000000000'
  await bench.pool.query(
    `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
     values ($1, $2, nextval('posthorn.ticket'), now(), now(), 0)`,
    [day, lane],
  )
  const leases = await leasesOf(bench, [lane])
  const { settler, lines } = createTestSettler()
  for (const lease of leases) settler.add(settlementOf(lease))
  expect(await settler.flush(10_000)).toBe(0)
  expect((await owedAt(bench.pool, [lane])).map((row) => row.event_id)).toEqual([day])
  expect(await loggedAt(bench.pool, [lane])).toHaveLength(5)
  const named = `${encodeId('evt', day)}/${encodeId('ep', lane)}`
  expect(lines.filter((line) => line.level === 'error').every((line) => line.delivery === named)).toBe(true)
  await bench.pool.query('delete from posthorn.delivery where event_id = $1', [day])
})

test('settles that a lock or an outage holds up are written once it is over, each once', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 8)
  const leases = await leasesOf(bench, [lane])
  const pool = bench.poolOf(2)
  const { settler } = createTestSettler(pool)
  const holder = await bench.pool.connect()
  onTestFinished(() => holder.release())
  await holder.query('begin')
  await holder.query('lock table posthorn.attempt in share mode')
  for (const lease of leases) settler.add(settlementOf(lease))
  const waiting = `select a.pid from pg_stat_activity a join pg_locks l on l.pid = a.pid
    where not l.granted and l.relation = 'posthorn.attempt'::regclass`
  await eventually(async () => (await bench.pool.query(waiting)).rowCount! > 0, 5_000)
  // Cut off in the middle of the statement, several times.
  for (let turn = 0; turn < 3; turn++) {
    const [row] = await eventually(async () => {
      const { rows } = await bench.pool.query<{ pid: number }>(waiting)
      return rows.length > 0 && rows
    }, 5_000)
    await bench.pool.query('select pg_terminate_backend($1)', [row!.pid])
  }
  await holder.query('rollback')
  expect(await settler.flush(10_000)).toBe(0)
  expect(await owedAt(bench.pool, [lane])).toEqual([])
  expect((await loggedAt(bench.pool, [lane])).map((row) => row.outcome)).toEqual(leases.map(() => 1))
})

test('what cannot be written in the time of a stop is counted', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  const leases = await leasesOf(bench, [lane])
  const { settler } = createTestSettler()
  const holder = await bench.pool.connect()
  onTestFinished(() => holder.release())
  await holder.query('begin')
  await holder.query('lock table posthorn.delivery in share mode')
  for (const lease of leases) settler.add(settlementOf(lease))
  expect(await settler.flush(50)).toBe(3)
  await holder.query('rollback')
})
