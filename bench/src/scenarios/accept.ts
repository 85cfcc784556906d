import type pg from 'pg'
import { mostRssMiB, readUsage } from '../measure/process-usage.ts'
import { mean } from '../measure/statistics.ts'
import type { Scenario, Stage, Target } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { batchBody, eventBody, payload } from '../stage/payload.ts'
import { operatorToken, startApi } from '../stage/posthorn-process.ts'
import { seedEndpoints } from '../stage/seed.ts'
import { startWorker } from '../stage/worker.ts'
import type { EchoFunctions } from '../workers/echo.ts'
import type { LoadFunctions } from '../workers/load.ts'

const batchSize = 100
const event = eventBody()
const batch = batchBody(batchSize)
const apiMemory: Target = { metric: 'api_peak_rss_mib', is: 'below', value: mostRssMiB, label: `API ${mostRssMiB} MiB` }

/** A tenant whose endpoint is paused: deliveries are written, and nothing is sent. And one without any endpoint. */
export const pausedTenant = 'paused'
const bareTenant = 'bare'

export const accept: Scenario = {
  name: 'accept',
  what: 'events accepted over HTTP, one a request, 64 connections, against a bare Hono echo of the same body',
  unit: 'events/s',
  yardstick: 'echo',
  targets: [{ metric: 'ratio', is: 'least', value: 0.5, label: '0.5 of a bare Hono echo' }, apiMemory],
  byDefault: true,
  async run(stage) {
    const { observer, publish, api } = await prepare(stage)
    const seconds = stage.options.seconds ?? 10
    const echo = await startWorker<EchoFunctions>(stage.scope, 'echo.ts')
    const echoOrigin = `http://127.0.0.1:${await echo.call('listen', undefined, 10_000)}`
    const echoed = () => post(stage, { origin: echoOrigin, paths: ['/echo'], body: event, status: 200, seconds })

    stage.say('echo')
    const before = await echoed()
    stage.say('accept')
    const accepted = await publish({ tenant: pausedTenant, batched: false, seconds })
    stage.say('accept, without an endpoint')
    const bare = await publish({ tenant: bareTenant, batched: false, seconds: Math.max(1, seconds / 2) })
    stage.say('echo')
    const after = await echoed()
    await checkAccepted(observer, { [pausedTenant]: accepted.done, [bareTenant]: bare.done }, accepted.done)
    const echoRate = mean([before.rate, after.rate])
    return {
      value: accepted.rate,
      ratio: accepted.rate / echoRate,
      metrics: api.metrics(),
      details: {
        echo_before: before.rate,
        echo_after: after.rate,
        without_endpoint: bare.rate,
        events_checked: accepted.done + bare.done,
        ...api.metrics(),
      },
    }
  },
}

export const acceptBatch: Scenario = {
  name: 'accept-batch-100',
  what: 'events accepted in batches of 100, against the same one a request',
  unit: 'events/s',
  yardstick: 'accept',
  targets: [{ metric: 'ratio', is: 'least', value: 4, label: '4 times one a request' }, apiMemory],
  byDefault: false,
  async run(stage) {
    const { observer, publish, api } = await prepare(stage)
    const seconds = stage.options.seconds ?? 10
    stage.say('one a request')
    const before = await publish({ tenant: pausedTenant, batched: false, seconds })
    stage.say('in batches of 100')
    const batched = await publish({ tenant: pausedTenant, batched: true, seconds })
    stage.say('one a request')
    const after = await publish({ tenant: pausedTenant, batched: false, seconds })
    const events = before.done + after.done + batched.done * batchSize
    await checkAccepted(observer, { [pausedTenant]: events }, events)
    const rate = batched.rate * batchSize
    return {
      value: rate,
      ratio: rate / mean([before.rate, after.rate]),
      metrics: api.metrics(),
      details: { single_before: before.rate, single_after: after.rate, events_checked: events, ...api.metrics() },
    }
  },
}

export async function prepare(stage: Stage) {
  const observer = await connectObserver(stage.scope, stage.databaseUrl)
  await seedEndpoints(observer, { endpoints: [{ tenant: pausedTenant, url: 'http://127.0.0.1:9/' }], paused: true })
  await observer.query('insert into posthorn.tenant (id) values ($1)', [bareTenant])
  const api = await startApi(stage)
  const publish = ({ tenant, batched, seconds, body }: Publish) =>
    api.whileAlive(
      post(stage, {
        origin: api.origin,
        paths: [`/v1/tenants/${tenant}/events${batched ? '/batch' : ''}`],
        body: body ?? (batched ? batch : event),
        status: 202,
        seconds,
      }),
    )
  const metrics = (): Record<string, number> => {
    const usage = readUsage(api.pid)
    return usage ? { api_peak_rss_mib: usage.peakRssMiB } : {}
  }
  return { observer, publish, api: { ...api, metrics, cpuSeconds: () => readUsage(api.pid)?.cpuSeconds ?? 0 } }
}

type Publish = {
  tenant: string
  batched: boolean
  seconds: number
  /** Another than the usual. */
  body?: Buffer
}

type Post = {
  origin: string
  paths: string[]
  body: Buffer
  status: number
  seconds: number
  /** See ClosedLoad; not unless given. */
  patient?: boolean
}

/** The same client for all that is compared: a new process, 64 connections, 64 requests under way. */
export async function post(stage: Stage, { origin, paths, body, status, seconds, patient = false }: Post) {
  const load = await startWorker<LoadFunctions>(stage.scope, 'load.ts')
  const result = await load.call(
    'closed',
    {
      origin,
      paths,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
      body,
      status,
      connections: 64,
      inFlight: 64,
      warmUpMs: 2_000,
      measureMs: seconds * 1_000,
      patient,
    },
    seconds * 1_000 + 60_000,
  )
  await load.stop()
  return result
}

/** Each answer 202 stands for events in the database, and there are no others. */
export async function checkAccepted(
  observer: pg.Client,
  events: Record<string, number>,
  deliveries: number,
  payloadBytes: number = payload.length,
): Promise<void> {
  for (const [tenant, wanted] of Object.entries(events)) {
    const { rows } = await observer.query<{ n: string }>(
      'select count(*) as n from posthorn.event e where e.tenant_id = $1 and octet_length(e.payload) = $2',
      [tenant, payloadBytes],
    )
    if (Number(rows[0]?.n) !== wanted) {
      throw new Error(`${wanted} events of tenant ${tenant} were answered 202, and ${rows[0]?.n} are in the database`)
    }
  }
  const { rows } = await observer.query<{ n: string }>('select count(*) as n from posthorn.delivery')
  if (Number(rows[0]?.n) !== deliveries) throw new Error(`${rows[0]?.n} deliveries are owed, and not ${deliveries}`)
}
