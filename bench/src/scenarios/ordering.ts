import { decodeId } from '@posthorn/core'
import type pg from 'pg'
import { type Receiver, startReceiver } from '../measure/raw-posts.ts'
import { mean } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedBacklog, seedEndpoints } from '../stage/seed.ts'
import { drain } from './drain.ts'
import { checkDrain } from './drain-check.ts'

const perKey = 10
const maxInFlight = 1_000

// What is left of a drain; the next finds the database as the first did.
export const clear = 'truncate posthorn.delivery, posthorn.event, posthorn.attempt'

export const ordering: Scenario = {
  name: 'ordering',
  what: 'a backlog of 10,000 keys with 10 deliveries each at one endpoint, ordered by key, against the same without order',
  unit: 'deliveries/s',
  yardstick: 'without order',
  targets: [{ metric: 'ratio', is: 'least', value: 0.75, label: '0.75 of without order' }],
  byDefault: false,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const deliveries = stage.options.deliveries * 2
    const keys = Array.from({ length: Math.ceil(deliveries / perKey) }, (_, n) => `order-${n}`)
    const endpoints = await seedEndpoints(observer, {
      endpoints: [{ tenant: 'ordered', url: `${receiver.origin}/ordered` }],
      maxInFlight,
    })
    const rates = { none: [] as number[], by_key: [] as number[] }
    const walBytes = { none: [] as number[], by_key: [] as number[] }
    for (const kind of ['none', 'by_key', 'by_key', 'none'] as const) {
      await observer.query('update posthorn.lane set ordering = $1', [kind === 'none' ? 0 : 2])
      stage.say(`owing ${deliveries} deliveries of ${keys.length} keys`)
      await seedBacklog(observer, endpoints, deliveries, keys)
      stage.say(kind === 'none' ? 'draining without order' : 'draining by key')
      const drained = await drain(stage, observer, receiver, { deliveries, concurrency: 400 })
      rates[kind].push(drained.rate)
      walBytes[kind].push(drained.metrics['wal_bytes_per_delivery']!)
      stage.say(`${Math.round(drained.rate)} deliveries/s; checking every one`)
      await checkDrain(observer, receiver, endpoints, deliveries)
      if (kind === 'by_key') await checkOrder(observer, receiver)
      await observer.query(clear)
    }
    const value = mean(rates.by_key)
    return {
      value,
      ratio: value / mean(rates.none),
      metrics: {},
      details: {
        deliveries,
        keys: keys.length,
        without_order: rates.none,
        by_key: rates.by_key,
        wal_bytes_per_delivery_without_order: mean(walBytes.none),
        wal_bytes_per_delivery_by_key: mean(walBytes.by_key),
      },
    }
  },
}

/** @throws unless the webhooks of each key came in the order in which their events were published */
async function checkOrder(observer: pg.Client, receiver: Receiver): Promise<void> {
  const { rows } = await observer.query<[id: string, key: string]>({
    text: 'select e.id, e.ordering_key from posthorn.event e order by e.id',
    rowMode: 'array',
  })
  const place = new Map(rows.map(([id], at) => [id, at]))
  const keys = new Map(rows)
  const last = new Map<string, number>()
  const { ids } = await receiver.worker.call('arrivals', undefined, 60_000)
  for (const name of ids) {
    const id = decodeId('evt', name)!
    const key = keys.get(id)!
    const at = place.get(id)!
    if (at < (last.get(key) ?? -1)) throw new Error(`the drain was not done in order: ${name} of ${key} was overtaken`)
    last.set(key, at)
  }
}
