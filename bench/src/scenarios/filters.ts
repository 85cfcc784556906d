import { filterPath, readFilter } from '@posthorn/core'
import { createPool, type PoolClient } from '@posthorn/core/db'
import { publishMany } from '@posthorn/core/sql'
import type pg from 'pg'
import { median } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedEndpoints } from '../stage/seed.ts'

const endpointCount = 10_000
const publishes = 25

const invoice = {
  type: 'invoice.paid',
  data: { id: 1042, total: 99.5, plan: 'pro', customer: { id: 'cus_1', country: 'DE' } },
  more: Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`field${n}`, `some value number ${n}`])),
}
const small = Buffer.from(JSON.stringify(invoice))
const large = Buffer.from(
  JSON.stringify({
    ...invoice,
    lines: Array.from({ length: 15_000 }, (_, n) => ({ id: n, name: `line ${n}`, price: n / 7 })),
  }),
)

const ofCustomer = (name: string) => ({ path: '/data/customer/id', equals: name })
const three = (country: string) => ({
  and: [
    { path: '/data/total', gte: 10 },
    { path: '/data/plan', in: ['pro', 'team', 'enterprise'] },
    { path: '/data/customer/country', equals: country },
  ],
})

/** Each is a tenant of 10,000 endpoints; the filter of the n-th, or null. */
const kinds: Record<string, { filter: (n: number) => object | null; owed: number; payload?: Buffer }> = {
  one_condition: { filter: (n) => ofCustomer(`cus_x${n}`), owed: 0 },
  three_conditions: { filter: () => three('FR'), owed: 0 },
  twelve_conditions: {
    filter: (n) => ({ or: Array.from({ length: 12 }, (_, at) => ofCustomer(`cus_x${n + at}`)) }),
    owed: 0,
  },
  one_of_a_hundred: {
    filter: (n) => ({ path: '/data/customer/id', in: Array.from({ length: 100 }, (_, at) => `cus_x${n + at}`) }),
    owed: 0,
  },
  one_condition_large_payload: { filter: (n) => ofCustomer(`cus_x${n}`), owed: 0, payload: large },
  three_conditions_all_met: { filter: () => three('DE'), owed: endpointCount },
  no_filters: { filter: () => null, owed: endpointCount },
}

export const filters: Scenario = {
  name: 'filters',
  what: 'the time of one publish to a tenant of 10,000 endpoints, each with a filter over the payload that it does not meet',
  unit: 'ms',
  yardstick: null,
  targets: [{ metric: 'slowest_ms', is: 'below', value: 50, label: '50 ms' }],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const medians: Record<string, number> = {}
    for (const [kind, { filter }] of Object.entries(kinds)) await seedFiltered(observer, kind, filter)
    await observer.query('vacuum analyze posthorn.endpoint')
    const pool = createPool({
      connectionString: stage.databaseUrl,
      max: 1,
      applicationName: 'posthorn bench filters',
      onError: () => undefined,
    })
    try {
      const client = await pool.connect()
      for (const [kind, { owed, payload = small }] of Object.entries(kinds)) {
        stage.say(kind)
        const tries: number[] = []
        for (let n = 0; n < publishes; n++) tries.push(await publishOnce(client, kind, payload, owed))
        medians[`${kind}_ms`] = median(tries)
      }
      client.release()
    } finally {
      await pool.end()
    }
    const unmet = Object.entries(kinds).flatMap(([kind, { owed }]) => (owed === 0 ? [medians[`${kind}_ms`]!] : []))
    return {
      value: medians['three_conditions_ms']!,
      ratio: null,
      metrics: { slowest_ms: Math.max(...unmet) },
      details: { endpoints: endpointCount, large_payload_bytes: large.length, ...medians },
    }
  },
}

async function seedFiltered(client: pg.Client, tenant: string, filterOf: (n: number) => object | null): Promise<void> {
  const endpoints = Array.from({ length: endpointCount }, () => ({ tenant, url: 'https://example.com/hooks' }))
  const seeded = await seedEndpoints(client, { endpoints })
  const read = seeded.map((_, n) => {
    const filter = filterOf(n)
    return filter === null ? null : readFilter(JSON.stringify(filter))
  })
  const texts = read.map((each) => {
    if (each !== null && 'faults' in each) throw new Error(each.faults[0]!.message)
    return each === null ? null : { text: each.text, path: filterPath(each.filter) }
  })
  await client.query(
    `update posthorn.endpoint e set filter = u.text, filter_path = u.path::jsonpath
     from unnest($1::uuid[], $2::text[], $3::text[]) u(id, text, path) where e.id = u.id`,
    [seeded.map(({ id }) => id), texts.map((each) => each?.text), texts.map((each) => each?.path)],
  )
}

/** One publish, taken back. @returns how long its statement took, in ms */
async function publishOnce(client: PoolClient, tenantId: string, payload: Buffer, owed: number): Promise<number> {
  const event = { type: 'invoice.paid', payload, channels: null, orderingKey: null, deliverAt: null }
  await client.query('begin')
  const startedAt = performance.now()
  const [result] = await publishMany(client, [{ tenantId, idempotencyKey: null, events: [event] }])
  const ms = performance.now() - startedAt
  await client.query('rollback')
  if (result?.outcome !== 'accepted' || result.events[0]?.deliveries !== owed) throw new Error('owed to others')
  return ms
}
