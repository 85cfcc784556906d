import { expect, test } from 'vitest'
import {
  addLane,
  failed,
  leasesOf,
  loggedAt,
  owe,
  owedAt,
  scheduled,
  settle,
  settlementOf,
  succeeded,
  useBench,
} from './claim-fixture.ts'

const bench = useBench()

async function laneRow(id: string) {
  const { rows } = await bench.pool.query<{
    status: number
    draining: boolean
    version: number
    wait_ms: number | null
    endpoint_status: string
    disabled_reason: string | null
    endpoint_version: number
  }>(
    `select l.status, l.draining, l.version, (extract(epoch from l.blocked_until - now()) * 1000)::double precision as wait_ms,
       e.status as endpoint_status, e.disabled_reason, e.version as endpoint_version
     from posthorn.lane l join posthorn.endpoint e on e.id = l.endpoint_id where l.endpoint_id = $1`,
    [id],
  )
  return rows[0]!
}

test('a mix of outcomes in one settle: each delivery goes its own way, each attempt is logged once', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 6)
  const leases = await leasesOf(bench, [lane])
  expect(leases.map((lease) => lease.number)).toEqual([1, 1, 1, 1, 1, 1])
  const [good, later, ended, again, none] = leases
  const { superseded } = await settle(bench.pool, [
    settlementOf(again!, { ...failed, state: 0, fresh: true, status: null }),
    settlementOf(good!),
    settlementOf(later!, { ...scheduled, step: 1, waitMs: 60_000 }),
    settlementOf(none!, { outcome: 0, state: 5, reason: 'expired', status: null }),
    settlementOf(ended!, { ...failed, reason: 'exhausted' }),
  ])
  expect(superseded).toEqual([])

  const owed = await owedAt(bench.pool, [lane])
  expect(owed.map((row) => [row.event_id, row.state, row.step, row.fresh, row.leased])).toEqual([
    [leases[5]!.eventId, 1, 0, false, true],
    ...[
      [later!.eventId, 2, 1, false, false],
      [again!.eventId, 0, 0, true, false],
    ].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)),
  ])
  const due = owed.find((row) => row.event_id === later!.eventId)!
  expect(due.wait_ms).toBeGreaterThan(50_000)
  expect(due.wait_ms).toBeLessThan(60_001)
  // A ticket is spent once: what moved has a new one.
  for (const row of owed.slice(1)) expect(leases.map((lease) => lease.ticket)).not.toContain(row.ticket)

  const logged = await loggedAt(bench.pool, [lane])
  expect(logged.map((row) => [row.event_id, row.outcome, row.state, row.reason, row.next])).toEqual(
    [
      [good!.eventId, 1, 4, null, false],
      [later!.eventId, 2, 2, null, true],
      [ended!.eventId, 2, 5, 'exhausted', false],
      [again!.eventId, 2, 0, null, false],
      [none!.eventId, 0, 5, 'expired', false],
    ].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)),
  )

  // The attempt's number is never used again.
  const [next] = await leasesOf(bench, [lane])
  expect(next).toMatchObject({ eventId: again!.eventId, number: 2, step: 0, fresh: true })
})

test('the same settle twice is one attempt, and changes nothing more', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  const leases = await leasesOf(bench, [lane])
  const items = [
    settlementOf(leases[0]!),
    settlementOf(leases[1]!, { ...scheduled, step: 1, waitMs: 0 }),
    settlementOf(leases[2]!, { ...failed, state: 0 }),
  ]
  await settle(bench.pool, items)
  const owed = await owedAt(bench.pool, [lane])
  const logged = await loggedAt(bench.pool, [lane])
  const { superseded } = await settle(bench.pool, items)
  expect(await owedAt(bench.pool, [lane])).toEqual(owed.map((row) => ({ ...row, wait_ms: expect.any(Number) })))
  expect(await loggedAt(bench.pool, [lane])).toEqual(logged)
  expect(logged.map((row) => row.outcome).sort()).toEqual([1, 2, 2])
  // What the log has already is no lost lease.
  expect(superseded).toEqual([])
})

test('a settle that runs twice at once is one attempt a lease', async () => {
  const lane = await addLane(bench.pool, { maxInFlight: 200 })
  await owe(bench.pool, lane, 100)
  const leases = await leasesOf(bench, [lane])
  const items = leases.map((lease, at) =>
    settlementOf(lease, at % 3 === 0 ? {} : at % 3 === 1 ? { ...scheduled, step: 1, waitMs: 9_000 } : failed),
  )
  const results = await Promise.all([settle(bench.pool, items), settle(bench.pool, items), settle(bench.pool, items)])
  expect(results.flatMap((result) => result.superseded)).toEqual([])
  const logged = await loggedAt(bench.pool, [lane])
  expect(logged).toHaveLength(100)
  expect(logged.filter((row) => row.outcome === 4)).toEqual([])
})

test('a lost lease settles nothing: its attempt is logged as superseded, the delivery stays', async () => {
  const lane = await addLane(bench.pool)
  const other = await addLane(bench.pool)
  await owe(bench.pool, lane, 4)
  await owe(bench.pool, other, 1)
  const leases = await leasesOf(bench, [lane])
  const [mine] = await leasesOf(bench, [other])
  await bench.pool.query(
    `update posthorn.delivery set state = 0, ticket = nextval('posthorn.ticket'), lease_expires_at = null, dispatcher_id = null
     where endpoint_id = $1`,
    [lane],
  )
  const before = await owedAt(bench.pool, [lane])
  const { superseded } = await settle(bench.pool, [
    settlementOf(leases[0]!),
    settlementOf(leases[1]!, { ...failed, status: 410, reason: 'gone', gone: true }),
    settlementOf(leases[2]!, { ...scheduled, status: 429, step: 1, waitMs: 9_000, laneWaitMs: 60_000 }),
    settlementOf(leases[3]!, { ...failed, state: 0 }),
    settlementOf(mine!),
  ])
  expect(superseded.map((lease) => lease.ticket).sort()).toEqual(leases.map((lease) => lease.ticket).sort())
  expect(await owedAt(bench.pool, [lane])).toEqual(before.map((row) => ({ ...row, wait_ms: expect.any(Number) })))
  const logged = await loggedAt(bench.pool, [lane])
  expect(logged.map((row) => [row.outcome, row.state, row.reason, row.next])).toEqual(
    leases.map(() => [4, 0, null, false]),
  )
  expect(logged.map((row) => row.status).sort()).toEqual([200, 410, 429, 500])
  // Neither closed nor blocked by those whose lease did not hold.
  expect(await laneRow(lane)).toMatchObject({ status: 0, wait_ms: null, endpoint_status: 'enabled', version: 1 })
  expect(await owedAt(bench.pool, [other])).toEqual([])
})

test('410 closes the lane and the endpoint in the transaction that ends the delivery', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 3)
  const [lease] = await leasesOf(bench, [lane], { limit: 1 })
  await settle(bench.pool, [settlementOf(lease!, { ...failed, status: 410, reason: 'gone', gone: true })])
  expect(await laneRow(lane)).toMatchObject({
    status: 2,
    draining: true,
    version: 2,
    endpoint_status: 'disabled',
    disabled_reason: 'gone',
    endpoint_version: 2,
  })
  expect(await leasesOf(bench, [lane])).toEqual([])
})

test('410 and Retry-After of one lane in one settle: the lane closes', async () => {
  for (const order of [0, 1]) {
    const lane = await addLane(bench.pool)
    await owe(bench.pool, lane, 2)
    const leases = await leasesOf(bench, [lane])
    const gone = settlementOf(leases[order]!, { ...failed, status: 410, reason: 'gone', gone: true })
    const wait = settlementOf(leases[1 - order]!, { ...scheduled, status: 429, step: 1, laneWaitMs: 5_000 })
    await settle(bench.pool, order === 0 ? [gone, wait] : [wait, gone])
    expect(await laneRow(lane)).toMatchObject({ status: 2, draining: true, endpoint_status: 'disabled' })
  }
})

test('410 leaves a deleted endpoint deleted', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const [lease] = await leasesOf(bench, [lane])
  await bench.pool.query(`update posthorn.lane set status = 3, draining = true where endpoint_id = $1`, [lane])
  await settle(bench.pool, [settlementOf(lease!, { ...failed, status: 410, reason: 'gone', gone: true })])
  expect(await laneRow(lane)).toMatchObject({ status: 3, version: 1, endpoint_status: 'enabled' })
})

test('Retry-After blocks the lane, the longest of a settle wins, and a shorter one later does not shorten it', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 4)
  const leases = await leasesOf(bench, [lane], { limit: 3 })
  const wait = (at: number, laneWaitMs: number) =>
    settlementOf(leases[at]!, { ...scheduled, status: 429, step: 1, waitMs: laneWaitMs, laneWaitMs })
  await settle(bench.pool, [wait(0, 30_000), wait(1, 60_000)])
  const first = (await laneRow(lane)).wait_ms!
  expect(first).toBeGreaterThan(50_000)
  expect(first).toBeLessThan(60_001)
  await settle(bench.pool, [wait(2, 1_000)])
  expect((await laneRow(lane)).wait_ms!).toBeGreaterThan(50_000)
  expect(await leasesOf(bench, [lane])).toEqual([])
})

test('at a closed lane whatever has not succeeded ends as canceled, also what had no attempt left', async () => {
  for (const [status, reason] of [
    [2, 'endpoint_disabled'],
    [3, 'endpoint_deleted'],
  ] as const) {
    const lane = await addLane(bench.pool)
    await owe(bench.pool, lane, 4)
    const leases = await leasesOf(bench, [lane])
    await bench.pool.query(`update posthorn.lane set status = $2, draining = true where endpoint_id = $1`, [
      lane,
      status,
    ])
    await settle(bench.pool, [
      settlementOf(leases[0]!, { ...scheduled, step: 1, waitMs: 1 }),
      settlementOf(leases[1]!, { ...failed, state: 0 }),
      settlementOf(leases[2]!),
      settlementOf(leases[3]!, { ...failed, reason: 'exhausted' }),
    ])
    expect(await owedAt(bench.pool, [lane])).toEqual([])
    const logged = new Map((await loggedAt(bench.pool, [lane])).map((row) => [row.event_id, row]))
    expect(leases.map((lease) => [logged.get(lease.eventId)!.outcome, logged.get(lease.eventId)!.state])).toEqual([
      [2, 6],
      [2, 6],
      [1, 4],
      [2, 6],
    ])
    expect(logged.get(leases[0]!.eventId)).toMatchObject({ reason, next: false })
    expect(logged.get(leases[3]!.eventId)).toMatchObject({ reason })
  }
})

test('a paused lane keeps what is owed: a retry is scheduled as ever', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane)
  const [lease] = await leasesOf(bench, [lane])
  await bench.pool.query(`update posthorn.lane set status = 1 where endpoint_id = $1`, [lane])
  await settle(bench.pool, [settlementOf(lease!, { ...scheduled, step: 1, waitMs: 60_000 })])
  expect((await owedAt(bench.pool, [lane])).map((row) => row.state)).toEqual([2])
})

test('the bytes of a response are kept as they came, whatever they are', async () => {
  const bodies = [
    Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    Buffer.from('\u0000\u0000'),
    Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
    Buffer.from('\\x41"\'{}[],\\u0000\n\r'),
    Buffer.alloc(16_384, 0xff),
  ]
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, bodies.length)
  const leases = await leasesOf(bench, [lane])
  const headers = JSON.stringify([['x-odd', '\u00e9\t"\\ \u2028']])
  await settle(
    bench.pool,
    leases.map((lease, at) => settlementOf(lease, { responseBody: bodies[at]!, responseHeaders: headers })),
  )
  const logged = new Map((await loggedAt(bench.pool, [lane])).map((row) => [row.event_id, row]))
  for (const [at, lease] of leases.entries()) expect(logged.get(lease.eventId)!.response_body).toEqual(bodies[at])
  const kept = await bench.pool.query<{ response_headers: string }>(
    'select distinct response_headers from posthorn.attempt where endpoint_id = $1',
    [lane],
  )
  expect(kept.rows).toEqual([{ response_headers: headers }])
})

test('a settle that is refused writes nothing at all', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 2)
  const leases = await leasesOf(bench, [lane])
  const before = await owedAt(bench.pool, [lane])
  await expect(
    settle(bench.pool, [settlementOf(leases[0]!), settlementOf(leases[1]!, { ...succeeded, url: 'http://x/\0' })]),
  ).rejects.toMatchObject({ code: '22021' })
  expect((await owedAt(bench.pool, [lane])).map((row) => row.ticket)).toEqual(before.map((row) => row.ticket))
  expect(await loggedAt(bench.pool, [lane])).toEqual([])
})
