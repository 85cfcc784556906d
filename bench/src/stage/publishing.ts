import type pg from 'pg'
import type { Receiver } from '../measure/raw-posts.ts'
import type { Stage } from '../scenario.ts'
import type { LoadFunctions, OpenResult, Target } from '../workers/load.ts'
import { payload } from './payload.ts'
import { operatorToken, type PosthornProcess, startApi, startDispatcher } from './posthorn-process.ts'
import { seedEndpoints } from './seed.ts'
import { startWorker, type Worker } from './worker.ts'

/** An API, a dispatcher, and a load that publishes single events to the tenants in turn. */
export type Publishing = {
  api: PosthornProcess
  dispatcher: PosthornProcess
  load: Worker<LoadFunctions>
  target: Target
  /** The promise, or an error as soon as the API or the dispatcher ends by itself. */
  alive<T>(promise: Promise<T>): Promise<T>
  /** Publishes by the clock, so many events a second. */
  open(rate: number, measureMs: number): Promise<OpenResult>
  /**
   * Waits until so many webhooks have come since the receiver's last reset.
   * @returns when those of `sent` came, on the shared clock @throws unless each event came once
   */
  arrivalsOf(sent: OpenResult, published: number): Promise<number[]>
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
): Promise<Publishing> {
  const api = await startApi(stage)
  const dispatcher = await startDispatcher(stage, observer, {})
  const load = await startWorker<LoadFunctions>(stage.scope, 'load.ts')
  const alive = <T>(promise: Promise<T>): Promise<T> => api.whileAlive(dispatcher.whileAlive(promise))
  const target = {
    origin: api.origin,
    paths: tenants.map((tenant) => `/v1/tenants/${tenant}/events`),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
    body: Buffer.concat([Buffer.from('{"type":"bench.tested","payload":'), payload, Buffer.from('}')]),
    status: 202,
    connections: 64,
  }
  return {
    api,
    dispatcher,
    load,
    target,
    alive,
    open: (rate, measureMs) => alive(load.call('open', { ...target, rate, measureMs }, measureMs + 60_000)),
    async arrivalsOf(sent, published) {
      await alive(receiver.worker.call('waitFor', published, 60_000))
      const { webhooks, distinct } = await receiver.worker.call('summary', undefined, 60_000)
      if (webhooks !== published || distinct !== published) {
        throw new Error(`published ${published} events; received ${webhooks} webhooks, ${distinct} of them different`)
      }
      const { ids, moments } = await receiver.worker.call('arrivals', undefined, 60_000)
      const receivedAt = new Map(ids.map((id, at) => [id, moments[at]!]))
      return sent.ids.map((id) => receivedAt.get(id) ?? Number.NaN)
    },
  }
}
