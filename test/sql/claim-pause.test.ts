import { giveBackDeliveries } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { addLanes, claimFrom, owe, useBench } from './claim-fixture.ts'

const pauses = 210
const claimers = 5

const bench = useBench(claimers + 3)

/** Each closes the lane in a way of its own, as the API does: in a transaction that writes the lane. */
const closings = [
  'update posthorn.lane set status = 1 where endpoint_id = $1',
  'update posthorn.lane set status = 2 where endpoint_id = $1',
  `update posthorn.lane set blocked_until = now() + interval '1 hour' where endpoint_id = $1`,
]
const opening = 'update posthorn.lane set status = 0, blocked_until = null where endpoint_id = $1'

test('once a pause, a disabling or a block is answered, no lease is taken until it is lifted', async () => {
  const lanes = await addLanes(bench.pool, 3, { maxInFlight: 10 })
  for (const lane of lanes) await owe(bench.pool, lane, 40)
  const taken = new Map(lanes.map((lane) => [lane, [] as bigint[]]))
  const closed: { lane: string; after: bigint; before: bigint }[] = []
  let claims = 0
  let onClaim = (): void => {}
  let stopped = false

  async function claimer(at: number): Promise<void> {
    for (let turn = at; !stopped; turn++) {
      const order = lanes.map((_, shift) => lanes[(shift + turn) % lanes.length]!)
      const leases = (await claimFrom(bench, order, { limit: 12 })).flatMap((claim) => claim.leases)
      for (const lease of leases) taken.get(lease.endpointId)!.push(BigInt(lease.ticket))
      await giveBackDeliveries(bench.pool, leases)
      claims++
      onClaim()
    }
  }

  const claimed = (count: number): Promise<void> => {
    const goal = claims + count
    return new Promise((resolve) => {
      onClaim = () => {
        if (claims >= goal) resolve()
      }
    })
  }

  async function lastTicket(): Promise<bigint> {
    const { rows } = await bench.pool.query<{ last_value: string }>('select last_value from posthorn.ticket')
    return BigInt(rows[0]!.last_value)
  }

  const running = Array.from({ length: claimers }, (_, at) => claimer(at))
  for (let turn = 0; turn < pauses; turn++) {
    const lane = lanes[turn % lanes.length]!
    await bench.pool.query(closings[turn % closings.length]!, [lane])
    // Answered: whatever ticket is drawn from here on comes after.
    const after = await lastTicket()
    await claimed(claimers)
    const before = await lastTicket()
    await bench.pool.query(opening, [lane])
    closed.push({ lane, after, before })
    await claimed(2)
  }
  stopped = true
  await Promise.all(running)

  const late = closed.filter(({ lane, after, before }) =>
    taken.get(lane)!.some((ticket) => ticket > after && ticket <= before),
  )
  expect(late).toEqual([])
  // The claimers did take from each lane, before and after.
  for (const tickets of taken.values()) expect(tickets.length).toBeGreaterThan(pauses)
})
