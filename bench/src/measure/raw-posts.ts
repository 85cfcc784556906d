import type { Stage } from '../scenario.ts'
import { payload } from '../stage/payload.ts'
import { startWorker, type Worker } from '../stage/worker.ts'
import type { LoadFunctions } from '../workers/load.ts'
import type { ReceiverFunctions } from '../workers/receiver.ts'

export type Receiver = { worker: Worker<ReceiverFunctions>; origin: string }

export async function startReceiver(stage: Stage): Promise<Receiver> {
  const worker = await startWorker<ReceiverFunctions>(stage.scope, 'receiver.ts')
  return { worker, origin: `http://127.0.0.1:${await worker.call('listen', undefined, 10_000)}` }
}

/**
 * The yardstick: POSTs a second of 1 KiB that one process makes with undici and nothing else, over 64 connections with 128
 * requests waiting or under way. The process is new each time, so that no run finds warmer code than another.
 */
export async function measureRawPosts(stage: Stage, receiver: Receiver, seconds: number): Promise<number> {
  const load = await startWorker<LoadFunctions>(stage.scope, 'load.ts')
  const { rate } = await load.call(
    'closed',
    {
      origin: receiver.origin,
      paths: ['/raw'],
      headers: { 'content-type': 'application/json' },
      body: payload,
      status: 200,
      connections: 64,
      inFlight: 128,
      warmUpMs: 1_500,
      patient: false,
      measureMs: seconds * 1_000,
    },
    seconds * 1_000 + 60_000,
  )
  await load.stop()
  return rate
}
