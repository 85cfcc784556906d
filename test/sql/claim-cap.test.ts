import { promoteDeliveries, reclaimDeliveries } from '@posthorn/core/sql'
import { beforeAll, expect, test } from 'vitest'
import {
  addLane,
  claimFrom,
  failed,
  owe,
  randomOf,
  scheduled,
  settle,
  settlementOf,
  useBench,
} from './claim-fixture.ts'

const caps = [1, 2, 3, 5]
const eventsPerLane = 200
const claimers = 8
const fromTheBeginning = { due: '-infinity', settledMs: 0 }

const bench = useBench(30)

beforeAll(async () => {
  // Looks at the lanes of each claim before it commits, under the claim's own locks: the count is that of the moment.
  await bench.pool.query(`
    create table breach (endpoint_id uuid, leased integer, cap integer);
    create function witness() returns trigger language plpgsql as $$
    declare
      lane record;
    begin
      for lane in select distinct n.endpoint_id from new_rows n where n.state = 1 loop
        insert into breach
        select l.endpoint_id, c.n, l.max_in_flight
        from posthorn.lane l, (
          select count(*)::integer as n from posthorn.delivery d where d.state = 1 and d.endpoint_id = lane.endpoint_id
        ) c
        where l.endpoint_id = lane.endpoint_id and c.n > l.max_in_flight;
      end loop;
      return null;
    end $$;
    create trigger witness after update on posthorn.delivery referencing new table as new_rows
      for each statement execute function witness();`)
})

/** The leases of each lane and its cap, as one snapshot has them. */
async function snapshot(lanes: readonly string[]) {
  const { rows } = await bench.pool.query<{ endpoint_id: string; cap: number; n: number }>(
    `select l.endpoint_id, l.max_in_flight as cap,
       (select count(*)::integer from posthorn.delivery d where d.state = 1 and d.endpoint_id = l.endpoint_id) as n
     from posthorn.lane l where l.endpoint_id = any($1)`,
    [lanes],
  )
  return rows
}

test('a cap is exact under eight claimers, settles, reclaims, promotes and changes of the cap', async () => {
  const fixed: string[] = []
  for (const maxInFlight of caps) fixed.push(await addLane(bench.pool, { maxInFlight }))
  const changing = await addLane(bench.pool, { maxInFlight: 3 })
  const lanes = [...fixed, changing]
  for (const lane of lanes) await owe(bench.pool, lane, eventsPerLane)

  let done = false
  const faults: string[] = []
  const leased = new Set<string>()
  const tickets = new Set<string>()
  const most = new Map<string, number>()

  async function claimer(seed: number): Promise<void> {
    const random = randomOf(seed)
    const pool = bench.poolOf(2)
    while (!done) {
      const order = lanes.toSorted(() => random() - 0.5)
      const limit = 1 + Math.floor(random() * 12)
      // Some leases end while they are held, and are taken back; their settles come late.
      const claims = await claimFrom(bench, order, { limit, graceMs: random() < 0.2 ? -15_000 : 15_000 }, pool)
      const leases = claims.flatMap((claim) => claim.leases)
      if (leases.length > limit) faults.push(`${leases.length} leased, ${limit} asked`)
      for (const claim of claims) {
        if (claim.leases.length > Math.max(0, claim.room))
          faults.push(`${claim.leases.length} in room for ${claim.room}`)
        most.set(claim.endpointId, Math.max(claim.leases.length, most.get(claim.endpointId) ?? 0))
      }
      for (const lease of leases) {
        // A number is never used again, and a ticket neither.
        const name = `${lease.eventId} ${lease.endpointId} ${lease.number}`
        if (leased.has(name)) faults.push(`leased twice: ${name}`)
        if (tickets.has(lease.ticket)) faults.push(`ticket twice: ${lease.ticket}`)
        leased.add(name)
        tickets.add(lease.ticket)
      }
      await settle(
        pool,
        leases.map((lease) => {
          const luck = random()
          if (lease.number > 6 || luck < 0.6) return settlementOf(lease)
          if (luck < 0.75) return settlementOf(lease, { ...scheduled, step: lease.step + 1, waitMs: luck * 20 })
          if (luck < 0.85) return settlementOf(lease, { ...failed, state: 0 })
          return settlementOf(lease, { ...failed, reason: 'exhausted' })
        }),
      )
    }
  }

  const until = async (work: () => Promise<unknown>): Promise<void> => {
    while (!done) await work()
  }
  const reclaim = () =>
    reclaimDeliveries(bench.pool, {
      low: 0n,
      silentMs: 3_600_000,
      graceMs: 15_000,
      defaultSteps: 50,
      limit: 50,
      startGraceMs: 0,
    })
  const change = randomOf(99)
  const busy = Promise.all([
    ...Array.from({ length: claimers }, (_, at) => claimer(at + 1)),
    until(reclaim),
    until(() => promoteDeliveries(bench.pool, fromTheBeginning, 50)),
    until(() =>
      bench.pool.query('update posthorn.lane set max_in_flight = $2 where endpoint_id = $1', [
        changing,
        1 + Math.floor(change() * 5),
      ]),
    ),
    until(async () => {
      for (const lane of await snapshot(fixed)) if (lane.n > lane.cap) faults.push(`snapshot: ${lane.n} of ${lane.cap}`)
    }),
  ])
  busy.catch(() => {
    done = true
  })
  while (!done) {
    const { rows } = await bench.pool.query<{ left: boolean }>('select exists (select from posthorn.delivery) as left')
    done = !rows[0]!.left
  }
  await busy

  expect(faults).toEqual([])
  const { rows: breaches } = await bench.pool.query('select endpoint_id, leased, cap from breach')
  expect(breaches).toEqual([])
  // The caps were reached: the test could have failed.
  expect(fixed.map((lane) => most.get(lane))).toEqual(caps)
  const { rows } = await bench.pool.query<{ ends: number; events: number; lost: number; late: number }>(
    `select count(*) filter (where state >= 4)::integer as ends, count(distinct event_id)::integer as events,
       count(*) filter (where outcome = 3)::integer as lost, count(*) filter (where outcome = 4)::integer as late
     from posthorn.attempt`,
  )
  expect(rows[0]).toMatchObject({ ends: lanes.length * eventsPerLane, events: lanes.length * eventsPerLane })
  expect(rows[0]!.lost).toBeGreaterThan(0)
  expect(rows[0]!.late).toBeGreaterThan(0)
}, 60_000)
