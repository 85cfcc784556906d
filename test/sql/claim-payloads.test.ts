import { claimDeliveries, type LaneClaim, type Lease, readEventsToSend } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { addLane, addLanes, owe, owedAt, useBench } from './claim-fixture.ts'
import { publishKeyed } from './order-fixture.ts'

const bench = useBench()

const claim = (lanes: readonly string[], payloadBytes: number): Promise<LaneClaim[]> =>
  claimDeliveries(bench.pool, {
    lanes: lanes.map((endpointId) => ({ endpointId, readyFrom: 0n, leasedFrom: 0n })),
    limit: 100,
    perLane: 100,
    graceMs: 15_000,
    dispatcherId: bench.dispatcherId,
    payloadBytes,
  })

const leasesOf = async (lanes: readonly string[], payloadBytes: number): Promise<Lease[]> =>
  (await claim(lanes, payloadBytes)).flatMap((lane) => lane.leases)

/** Owes a payload of these bytes. @returns the event's id */
async function oweBytes(lane: string, payload: Uint8Array, type = 'a.b'): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    'select posthorn.publish_to($1, $1::uuid::text, $2, $3) as id',
    [lane, type, payload],
  )
  return rows[0]!.id
}

const texts = [
  '{"a":1}',
  ' [ 1.0 , 1e2 ,-0 ]\r\n',
  '"\ufeff back\\\\slash \\u0000 \\ud800 \\x"',
  '"\u2028 \ufffd \u{1f4ef} \u{10ffff} \u007f é 漢"',
  '"\ufeff"',
]

test('leases come with their events, byte for byte, and those of one event with one', async () => {
  const lane = await addLane(bench.pool)
  const ids = []
  for (const [at, text] of texts.entries()) ids.push(await oweBytes(lane, Buffer.from(text), `type.n${at}`))
  const leases = await leasesOf([lane], 1_000_000)
  const found = new Map(leases.map((lease) => [lease.eventId, lease.event]))
  expect(ids.map((id) => found.get(id)?.payload.toString())).toEqual(texts)
  expect(ids.map((id) => found.get(id)?.type)).toEqual(texts.map((_, at) => `type.n${at}`))

  const lanes = await addLanes(bench.pool, 3)
  const [event] = await owe(bench.pool, lanes[0]!)
  for (const other of lanes.slice(1)) {
    await bench.pool.query(
      `insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
       values ($1, $2, nextval('posthorn.ticket'), now(), now(), 0)`,
      [event, other],
    )
  }
  const shared = await leasesOf(lanes, 1_000_000)
  expect(shared).toHaveLength(3)
  expect(shared[0]!.event).not.toBeNull()
  expect(new Set(shared.map((lease) => lease.event)).size).toBe(1)
})

test.each([
  ['none', { ordering: 'none' }],
  ['by key', { ordering: 'by_key' }],
] as const)('past so many bytes events are left to be read by themselves: %s', async (_, options) => {
  const lane = await addLane(bench.pool, options)
  const payload = `"${'x'.repeat(998)}"`
  for (let at = 0; at < 10; at++) {
    if (options.ordering === 'by_key') await publishKeyed(bench.pool, lane, [`k${at}`])
    else await oweBytes(lane, Buffer.from(payload))
  }
  await bench.pool.query('update posthorn.event set payload = $1 where tenant_id = $2', [Buffer.from(payload), lane])
  const leases = await leasesOf([lane], 3_500)
  expect(leases).toHaveLength(10)
  const read = leases.filter((lease) => lease.event !== null)
  expect(read).toHaveLength(3)
  for (const lease of read) expect(lease.event!.payload.toString()).toBe(payload)
  const left = leases.filter((lease) => lease.event === null).map((lease) => lease.eventId)
  expect(new Set(leases.map((lease) => lease.bytes))).toEqual(new Set([1_000]))
  const events = await readEventsToSend(bench.pool, left)
  expect([...events.values()].map((event) => event.payload.toString())).toEqual(left.map(() => payload))
})

test('a large payload is left, and the small ones beside it come', async () => {
  const lane = await addLane(bench.pool)
  const sizes = [64 * 1024 + 1, 10, 64 * 1024, 1024 * 1024, 10]
  for (const size of sizes) await oweBytes(lane, Buffer.from(`"${'x'.repeat(size - 2)}"`))
  const leases = await leasesOf([lane], 1_000_000)
  expect(leases.map((lease) => lease.bytes)).toEqual(sizes)
  expect(leases.map((lease) => lease.event?.payload.length)).toEqual([undefined, 10, 64 * 1024, undefined, 10])
})

test('payloads are read byte for byte wherever they are cut', async () => {
  const lane = await addLane(bench.pool)
  // Of one, two, three and four bytes a character, so that cuts fall within them; and one that the table keeps compressed.
  const payloads = ['aé漢\u{1f4ef}', 'z'].map((unit, at) =>
    Buffer.from(JSON.stringify(unit.repeat(at === 0 ? 40_000 : 700_000))),
  )
  payloads.push(Buffer.from('1'))
  const ids: string[] = []
  for (const payload of payloads) ids.push(await oweBytes(lane, payload, 'large.one'))
  const events = await readEventsToSend(bench.pool, [...ids, ids[0]!, '00000000-0000-7000-8000-000000000000'])
  expect([...events.keys()].sort()).toEqual(ids.toSorted())
  for (const [at, id] of ids.entries()) {
    expect(events.get(id)!.type).toBe('large.one')
    expect(events.get(id)!.payload.equals(payloads[at]!)).toBe(true)
  }
})

test('a claim that is asked for no payloads reads none', async () => {
  const lane = await addLane(bench.pool)
  await owe(bench.pool, lane, 2)
  expect((await leasesOf([lane], 0)).map((lease) => lease.event)).toEqual([null, null])
})

test('a payload that is no text keeps nothing from being claimed, and is read as it is', async () => {
  const lane = await addLane(bench.pool)
  const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28])
  const id = await oweBytes(lane, Buffer.from('1'))
  await bench.pool.query('update posthorn.event set payload = $1 where id = $2', [bytes, id])
  await owe(bench.pool, lane)
  const leases = await leasesOf([lane], 1_000_000)
  expect(leases.map((lease) => [lease.number, lease.event])).toEqual([
    [1, null],
    [1, null],
  ])
  expect((await owedAt(bench.pool, [lane])).map((row) => row.state)).toEqual([1, 1])
  const large = Buffer.concat(Array.from({ length: 50_000 }, () => bytes))
  const events = async () => (await readEventsToSend(bench.pool, [id])).get(id)!.payload
  expect(await events()).toEqual(bytes)
  await bench.pool.query('update posthorn.event set payload = $1 where id = $2', [large, id])
  expect((await events()).equals(large)).toBe(true)
})
