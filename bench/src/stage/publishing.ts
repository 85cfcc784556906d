import type pg from 'pg'
import type { Receiver } from '../measure/raw-posts.ts'
import type { Stage } from '../scenario.ts'
import type { LoadFunctions, OpenResult, Target } from '../workers/load.ts'
import { batchBody, eventBody } from './payload.ts'
import { operatorToken, type PosthornProcess, startApi, startDispatcher } from './posthorn-process.ts'
import { seedEndpoints } from './seed.ts'
import { startWorker, type Worker } from './worker.ts'

/** An API, a dispatcher, and a load that publishes to the tenants in turn. */
export type Publishing = {
  api: PosthornProcess
  dispatcher: PosthornProcess
  load: Worker<LoadFunctions>
  target: Target
  /** The promise, or an error as soon as the API or the dispatcher ends by itself. */
  alive<T>(promise: Promise<T>): Promise<T>
  /** Publishes as much as is accepted for so long, and waits until all has come. */
  best(measureMs: number): Promise<Best>
  /** Publishes by the clock, so many events a second. */
  open(rate: number, measureMs: number): Promise<OpenResult>
  /**
   * Waits until so many webhooks have come since the receiver's last reset.
   * @returns when those of `sent` came, on the shared clock @throws unless each event came once
   */
  arrivalsOf(sent: OpenResult, published: number): Promise<number[]>
}

export type Best = {
  /** Events a second, from the first request until the last has come. */
  rate: number
  acceptedRate: number
  /** How long the last came after the end of the publishing. */
  tailMs: number
}

/** Registers endpoints at the receiver, of a tenant each. @returns the tenants */
export async function seedTenants(observer: pg.Client, receiver: Receiver, count: number): Promise<string[]> {
  const endpoints = Array.from({ length: count }, (_, n) => ({ tenant: `t${n}`, url: `${receiver.origin}/${n}` }))
  await seedEndpoints(observer, { endpoints })
  return endpoints.map(({ tenant }) => tenant)
}

export async function startPublishing(
  stage: Stage,
  observer: pg.Client,
  receiver: Receiver,
  tenants: readonly string[],
  eventsPerRequest = 1,
): Promise<Publishing> {
  const api = await startApi(stage)
  const dispatcher = await startDispatcher(stage, observer, {})
  const load = await startWorker<LoadFunctions>(stage.scope, 'load.ts')
  const alive = <T>(promise: Promise<T>): Promise<T> => api.whileAlive(dispatcher.whileAlive(promise))
  const target = {
    origin: api.origin,
    paths: tenants.map((tenant) => `/v1/tenants/${tenant}/events${eventsPerRequest > 1 ? '/batch' : ''}`),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
    body: eventsPerRequest > 1 ? batchBody(eventsPerRequest) : eventBody(),
    status: 202,
    connections: 64,
  }
  async function publishClosed(measureMs: number) {
    await receiver.worker.call('reset', undefined, 10_000)
    const result = await load.call(
      'closed',
      { ...target, inFlight: 64, warmUpMs: 0, measureMs, patient: false },
      measureMs + 60_000,
    )
    const events = result.done * eventsPerRequest
    await receiver.worker.call('waitFor', events, 60_000)
    return { events, startedAt: result.startedAt, lastAt: await receiver.worker.call('momentOf', events, 10_000) }
  }
  async function best(measureMs: number): Promise<Best> {
    await publishClosed(2_000)
    const { events, startedAt, lastAt } = await publishClosed(measureMs)
    return {
      rate: (events * 1_000) / (lastAt - startedAt),
      acceptedRate: (events * 1_000) / measureMs,
      tailMs: Math.max(0, lastAt - startedAt - measureMs),
    }
  }
  return {
    api,
    dispatcher,
    load,
    target,
    alive,
    best: (measureMs) => alive(best(measureMs)),
    open(rate, measureMs) {
      const pace = { events: eventsPerRequest, rate: rate / eventsPerRequest, measureMs }
      return alive(load.call('open', { ...target, ...pace }, measureMs + 60_000))
    },
    async arrivalsOf(sent, published) {
      await alive(receiver.worker.call('waitFor', published, 60_000))
      const { webhooks, distinct } = await receiver.worker.call('summary', undefined, 60_000)
      if (webhooks !== published || distinct !== published) {
        throw new Error(`published ${published} events; received ${webhooks} webhooks, ${distinct} of them different`)
      }
      const { ids, moments } = await receiver.worker.call('arrivals', undefined, 60_000)
      const receivedAt = new Map(ids.map((id, at) => [id, moments[at]!]))
      return sent.ids.map((id) => {
        const at = receivedAt.get(id)
        if (at === undefined) throw new Error(`${id} was answered 202, and never came`)
        return at
      })
    },
  }
}
