import { decodeId } from '@posthorn/core'
import { reclaimDeliveries, type Settlement } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { addLane, failed, leasesOf, owe, owedAt, settle, settlementOf, useBenchForEach } from './claim-fixture.ts'
import { addOperator, age, bad, good, leaseAnyway, toldEvents } from './lane-fixture.ts'

/* Events about Posthorn itself: in the transaction of what they tell of, once, to whoever asked for them. */

const bench = useBenchForEach()

/** Trips, is found failing again, closes, exhausts a delivery, and ends by 410. */
async function live(lane: string): Promise<Settlement[][]> {
  const sent: Settlement[][] = []
  const send = async (items: Settlement[]) => {
    sent.push(items)
    return settle(bench.pool, items)
  }
  await send((await leaseAnyway(bench, lane, 10)).map((lease) => bad(lease)))
  await owe(bench.pool, lane, 10)
  await age(bench.pool, lane, 10_000)
  await send((await leasesOf(bench, [lane])).map((lease) => bad(lease)))
  await age(bench.pool, lane, 20_000)
  await send((await leasesOf(bench, [lane])).map(good))
  const [used, gone] = await leasesOf(bench, [lane])
  await send([bad(used!, { ...failed, reason: 'exhausted' })])
  await send([settlementOf(gone!, { ...failed, status: 410, reason: 'gone', gone: true })])
  return sent
}

test('each change is told once: failing, healthy, a delivery exhausted, disabled; a repeated settle tells nothing', async () => {
  const operator = await addOperator(bench.pool)
  const lane = await addLane(bench.pool)
  await bench.pool.query(`update posthorn.endpoint set uid = 'mine' where id = $1`, [lane])
  const sent = await live(lane)
  const told = await toldEvents(bench.pool)
  expect(told.map((event) => event.type)).toEqual([
    'endpoint.failing',
    'endpoint.healthy',
    'delivery.exhausted',
    'endpoint.disabled',
  ])
  for (const { data } of told) {
    expect(data['tenant_id']).toBe(lane)
    expect(decodeId('ep', String(data['endpoint_id']))).toBe(lane)
  }
  expect(told[0]!.data).toMatchObject({ uid: 'mine', failures_in_a_row: 10 })
  expect(decodeId('evt', String(told[2]!.data['event_id']))).toBe(sent[3]![0]!.eventId)
  expect(told[2]!.data).toMatchObject({ reason: 'exhausted' })
  expect(told[3]!.data).toMatchObject({ uid: 'mine', reason: 'gone' })
  for (const items of sent) await settle(bench.pool, items)
  expect(await toldEvents(bench.pool)).toEqual(told)
  // They are ordinary events, owed to whoever asked for them.
  expect((await owedAt(bench.pool, [operator])).map((row) => row.state)).toEqual([0, 0, 0, 0])
  expect(await leasesOf(bench, [operator])).toHaveLength(4)
})

test('the settle answers which lanes it rang', async () => {
  const operator = await addOperator(bench.pool)
  const lane = await addLane(bench.pool)
  const items = (await leaseAnyway(bench, lane, 10)).map((lease) => bad(lease))
  expect((await settle(bench.pool, items)).rung).toEqual([operator])
})

test('without an endpoint of the tenant posthorn nothing is published', async () => {
  await live(await addLane(bench.pool))
  expect(await toldEvents(bench.pool)).toEqual([])
  const operator = await addOperator(bench.pool)
  await bench.pool.query('update posthorn.endpoint set deleted_at = now() where id = $1', [operator])
  await live(await addLane(bench.pool))
  expect(await toldEvents(bench.pool)).toEqual([])
})

test('the lanes of the tenant posthorn tell nothing, so that no event causes itself', async () => {
  const operator = await addOperator(bench.pool)
  await live(operator)
  expect(await toldEvents(bench.pool)).toEqual([])
})

test('a disabling after days of failures is told with its reason, and only once for many lanes of one settle', async () => {
  await addOperator(bench.pool)
  const lanes = [await addLane(bench.pool), await addLane(bench.pool)]
  const first = await Promise.all(lanes.map((lane) => leaseAnyway(bench, lane, 2)))
  await settle(
    bench.pool,
    first.flat().map((lease) => bad(lease)),
  )
  for (const lane of lanes) await age(bench.pool, lane, 6 * 86_400_000)
  const second = await Promise.all(lanes.map((lane) => leaseAnyway(bench, lane, 12)))
  await settle(
    bench.pool,
    second.flat().map((lease) => bad(lease)),
  )
  const told = await toldEvents(bench.pool)
  // Not failing as well: what is disabled is blocked for nobody.
  expect(told.map((event) => [event.type, event.data['reason']])).toEqual([
    ['endpoint.disabled', 'failing'],
    ['endpoint.disabled', 'failing'],
  ])
  expect(new Set(told.map((event) => event.data['tenant_id']))).toEqual(new Set(lanes))
})

test('a settle that is refused tells nothing', async () => {
  await addOperator(bench.pool)
  const lane = await addLane(bench.pool)
  const items = (await leaseAnyway(bench, lane, 10)).map((lease) => bad(lease))
  items[3] = { ...items[3]!, url: 'http://x/\0' }
  await expect(settle(bench.pool, items)).rejects.toMatchObject({ code: '22021' })
  expect(await toldEvents(bench.pool)).toEqual([])
})

test('a delivery that ends by lost leases is told of', async () => {
  const operator = await addOperator(bench.pool)
  const lane = await addLane(bench.pool, { retrySchedule: [] })
  const [event] = await owe(bench.pool, lane)
  await leasesOf(bench, [lane])
  await bench.pool.query(`update posthorn.delivery set lease_expires_at = now() - interval '1 s'`)
  const { taken, rung } = await reclaimDeliveries(bench.pool, {
    low: 0n,
    silentMs: 3_600_000,
    graceMs: 15_000,
    defaultSteps: 9,
    limit: 50,
    startGraceMs: 0,
  })
  expect(taken).toEqual([{ eventId: event, endpointId: lane, usedUp: true }])
  expect(rung).toEqual([operator])
  const [told] = await toldEvents(bench.pool)
  expect(told).toMatchObject({ type: 'delivery.exhausted', data: { tenant_id: lane, reason: 'exhausted' } })
})

test('many at once are one event each, with payloads that agree with their rows', async () => {
  await addOperator(bench.pool)
  const lane = await addLane(bench.pool, { maxInFlight: 500 })
  await owe(bench.pool, lane, 300)
  const leases = await leasesOf(bench, [lane], { limit: 300 })
  await settle(
    bench.pool,
    leases.map((lease) => settlementOf(lease, { ...failed, reason: 'exhausted' })),
  )
  const told = await toldEvents(bench.pool)
  expect(new Set(told.map((event) => decodeId('evt', String(event.data['event_id']))))).toEqual(
    new Set(leases.map((lease) => lease.eventId)),
  )
})
