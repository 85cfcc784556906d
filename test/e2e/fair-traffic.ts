import { setTimeout as sleep } from 'node:timers/promises'
import { decodeId } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import type { Cluster } from '../support/cluster.ts'
import type { Receiver } from '../support/receiver.ts'
import { webhookId } from '../support/webhooks.ts'

/** Nothing listens there: connections are refused at once. */
export const deadPort = 1

export type Registered = { tenant: string; id: string }

/** Registers endpoints, some at a time. @returns them in the order of the inputs */
export async function registerAll(
  cluster: Cluster,
  inputs: readonly ({ tenant: string; url: string } & Record<string, unknown>)[],
): Promise<Registered[]> {
  const made = new Array<Registered>(inputs.length)
  let next = 0
  async function one(): Promise<void> {
    while (next < inputs.length) {
      const at = next++
      const { tenant, ...input } = inputs[at]!
      made[at] = { tenant, id: (await cluster.makeEndpoint(tenant, input)).id }
    }
  }
  await Promise.all(Array.from({ length: 8 }, one))
  return made
}

/** `count` healthy endpoints of ten tenants, each of which takes the type `to.<its number>` at the path `/<its number>`. */
export function registerHealthy(cluster: Cluster, receiver: Receiver, count: number): Promise<Registered[]> {
  return registerAll(
    cluster,
    Array.from({ length: count }, (_, n) => ({
      tenant: `healthy-${n % 10}`,
      url: `${receiver.url}/${n}`,
      event_types: [`to.${n}`],
    })),
  )
}

// The rows of a publish without its fan-out: hundreds of thousands of them in seconds.
const insertOwed = `
with owed as materialized (
  select posthorn.uuid_v7(clock_timestamp()) as event_id, u.endpoint_id, u.tenant
  from generate_series(1, $3::integer) n, unnest($1::uuid[], $2::text[]) u(endpoint_id, tenant)
), events as (
  insert into posthorn.event (id, tenant_id, type, deliveries, payload)
  select o.event_id, o.tenant, 'to.backlog', 1, '{"backlog":true}'::bytea from owed o
)
insert into posthorn.delivery (event_id, endpoint_id, ticket, owed_at, due_at, state)
select o.event_id, o.endpoint_id, nextval('posthorn.ticket'), now(), now(), 0 from owed o`

/** Owes `each` events to each endpoint, in transactions of some thousands. */
export async function owe(pool: Pool, endpoints: readonly Registered[], each: number): Promise<void> {
  const ids = endpoints.map(({ id }) => decodeId('ep', id))
  const tenants = endpoints.map(({ tenant }) => tenant)
  const step = Math.max(1, Math.floor(5_000 / endpoints.length))
  const client = await pool.connect()
  try {
    for (let done = 0; done < each; done += step) {
      await client.query('begin')
      // Before any ticket is drawn, as publishing does.
      await client.query('select pg_current_xact_id()')
      await client.query(insertOwed, [ids, tenants, Math.min(step, each - done)])
      await client.query('commit')
    }
  } finally {
    client.release()
  }
}

export type Traffic = {
  /** Publishes no more; waits until all that was published has come, or throws. @returns ms from when it was due to be published */
  end(withinMs: number): Promise<Latencies>
}

export type Latencies = {
  count: number
  p50: number
  p90: number
  p99: number
  max: number
  /** Until the publish was answered: what of the above was not the dispatchers'. */
  publishP50: number
  publishP99: number
}

/** Publishes to the healthy endpoints in turn over HTTP, by the clock: a slow answer delays no other. */
export function startTraffic(
  cluster: Cluster,
  receiver: Receiver,
  healthy: readonly Registered[],
  perSecond: number,
): Traffic {
  const dueAt = new Map<string, number>()
  const publishMs: number[] = []
  const sends: Promise<void>[] = []
  const firstAt = Date.now()
  let ended = false
  async function send(n: number, at: number): Promise<void> {
    const to = n % healthy.length
    dueAt.set(await cluster.publish(healthy[to]!.tenant, `to.${to}`, `{"n":${n}}`), at)
    publishMs.push(Date.now() - at)
  }
  const running = (async () => {
    for (let n = 0; !ended; n++) {
      const at = firstAt + (n * 1_000) / perSecond
      const earlyMs = at - Date.now()
      if (earlyMs > 0) await sleep(earlyMs)
      const sending = send(n, at)
      sending.catch(() => undefined)
      sends.push(sending)
    }
  })()
  return {
    async end(withinMs) {
      ended = true
      await running
      await Promise.all(sends)
      const arrivedAt = new Map<string, number>()
      let seen = 0
      await receiver.waitUntil(() => {
        for (; seen < receiver.requests.length; seen++) {
          const request = receiver.requests[seen]!
          const id = webhookId(request)
          if (dueAt.has(id) && !arrivedAt.has(id)) arrivedAt.set(id, request.at)
        }
        return arrivedAt.size >= dueAt.size
      }, withinMs)
      const took = [...dueAt].map(([id, at]) => arrivedAt.get(id)! - at)
      return {
        count: took.length,
        p50: percentile(took, 0.5),
        p90: percentile(took, 0.9),
        p99: percentile(took, 0.99),
        max: Math.max(...took),
        publishP50: percentile(publishMs, 0.5),
        publishP99: percentile(publishMs, 0.99),
      }
    },
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!)
}
