import { createPool, type Pool } from '@posthorn/core/db'
import { createTestDatabase } from './database.ts'
import { type SpawnedProcess, spawnPosthorn } from './processes.ts'
import { eventually } from './wait.ts'

const operatorToken = 'phk_operator-of-the-tests'
const encryptionKey = Buffer.alloc(32, 7).toString('base64')
const startMs = 20_000
/** `stop` ends them. */
const inFile = { outlivesTest: true }

export type ClusterOptions = {
  /** How many dispatchers start with it. Default 1. */
  dispatchers?: number
  /** A migrated database of the test's own. Default: a new one, which goes with the cluster. */
  databaseUrl?: string
  /** Settings of every process, beside those that point them at the database. */
  env?: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: what is asserted is the answer's shape
export type ApiAnswer<T = any> = { status: number; headers: Headers; bytes: Buffer; body: T }

export type CallOptions = { json?: unknown; raw?: string | Buffer; headers?: Record<string, string> }

export type TestEndpoint = { id: string; secret: string }

export type LeasedDelivery = {
  event: string
  endpoint: string
  /** The endpoint's URL without scheme and host. */
  path: string
}

export type Cluster = {
  databaseUrl: string
  /** The test's own connections, for looking at tables. */
  pool: Pool
  api: SpawnedProcess
  /** Those that were started, in order; the dead stay in their places. */
  dispatchers: SpawnedProcess[]
  /** Calls the real API as operator. The path begins below `/v1`. */
  call(method: string, path: string, options?: CallOptions): Promise<ApiAnswer>
  /** Registers an endpoint. @throws unless 201 */
  makeEndpoint(tenant: string, input: { url: string } & Record<string, unknown>): Promise<TestEndpoint>
  patchEndpoint(tenant: string, endpoint: string, input: Record<string, unknown>): Promise<ApiAnswer>
  /** Publishes one event whose payload is this JSON text, byte for byte. @returns its id @throws unless 202 */
  publish(tenant: string, type: string, payload: string, more?: Record<string, unknown>): Promise<string>
  /** Publishes in batches of 500. @returns the ids in order */
  publishAll(tenant: string, events: readonly { type: string; payload: string }[]): Promise<string[]>
  delivery(tenant: string, event: string, endpoint: string): Promise<ApiAnswer>
  attempts(tenant: string, event: string, endpoint: string): Promise<ApiAnswer['body'][]>
  startApi(env?: Record<string, string>): Promise<void>
  startDispatcher(env?: Record<string, string>): Promise<SpawnedProcess>
  /** What is leased to a process, under any id that it has had as a dispatcher. */
  leasedTo(dispatcher: SpawnedProcess): Promise<LeasedDelivery[]>
  /** Waits until nothing is owed. */
  drained(timeoutMs: number): Promise<void>
  /** Kills all, and drops the database if it was the cluster's. Idempotent. */
  stop(): Promise<void>
}

/** An API and dispatchers as real processes on one database. Receivers on 127.0.0.1 may be reached. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const own = options.databaseUrl === undefined ? await createTestDatabase() : null
  const databaseUrl = options.databaseUrl ?? own!.url
  const pool = createPool({ connectionString: databaseUrl, max: 4, applicationName: 'test', onError: () => undefined })
  const env = {
    POSTHORN_DATABASE_URL: databaseUrl,
    POSTHORN_ENCRYPTION_KEY: encryptionKey,
    POSTHORN_ALLOWED_TARGETS: '127.0.0.1/32',
    ...options.env,
  }
  let apiUrl = ''
  let stopping: Promise<void> | null = null

  const cluster: Cluster = {
    databaseUrl,
    pool,
    api: undefined as unknown as SpawnedProcess,
    dispatchers: [],
    async call(method, path, { json, raw, headers = {} } = {}) {
      const body = json === undefined ? raw : JSON.stringify(json)
      const response = await fetch(`${apiUrl}/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${operatorToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
      const parsed = isJson && !path.endsWith('/payload') ? JSON.parse(bytes.toString()) : null
      return { status: response.status, headers: response.headers, bytes, body: parsed }
    },
    async makeEndpoint(tenant, input) {
      const made = await cluster.call('POST', `/tenants/${tenant}/endpoints`, { json: input })
      return accepted(made, 201).body
    },
    patchEndpoint: (tenant, endpoint, input) =>
      cluster.call('PATCH', `/tenants/${tenant}/endpoints/${endpoint}`, { json: input }),
    async publish(tenant, type, payload, more = {}) {
      const rest = JSON.stringify({ type, ...more }).slice(0, -1)
      const raw = `${rest},"payload":${payload}}`
      return accepted(await cluster.call('POST', `/tenants/${tenant}/events`, { raw }), 202).body.id
    },
    async publishAll(tenant, events) {
      const ids: string[] = []
      for (let from = 0; from < events.length; from += 500) {
        const each = events.slice(from, from + 500)
        const raw = `{"events":[${each.map(({ type, payload }) => `{"type":"${type}","payload":${payload}}`).join()}]}`
        const answer = accepted(await cluster.call('POST', `/tenants/${tenant}/events/batch`, { raw }), 202)
        ids.push(...answer.body.data.map((event: { id: string }) => event.id))
      }
      return ids
    },
    delivery: (tenant, event, endpoint) =>
      cluster.call('GET', `/tenants/${tenant}/events/${event}/deliveries/${endpoint}`),
    async attempts(tenant, event, endpoint) {
      const path = `/tenants/${tenant}/events/${event}/deliveries/${endpoint}/attempts?limit=200`
      const { data } = accepted(await cluster.call('GET', path), 200).body
      return data.sort((a: { number: number }, b: { number: number }) => a.number - b.number)
    },
    async startApi(more = {}) {
      const settings = { ...env, POSTHORN_API_KEY: operatorToken, POSTHORN_PORT: '0', ...more }
      cluster.api = spawnPosthorn('api', settings, inFile)
      const line = await cluster.api.waitForLine(/"msg":"api listening"/, startMs)
      apiUrl = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`
    },
    async startDispatcher(more = {}) {
      const dispatcher = spawnPosthorn('dispatcher', { ...env, ...more }, inFile)
      cluster.dispatchers.push(dispatcher)
      await dispatcher.waitForLine(/"msg":"dispatcher ready"/, startMs)
      return dispatcher
    },
    async leasedTo(dispatcher) {
      const { rows } = await pool.query<LeasedDelivery>(
        `select posthorn.type_id('evt', d.event_id) as event, posthorn.type_id('ep', d.endpoint_id) as endpoint,
           substring(e.url from '//[^/]*(/.*)$') as path
         from posthorn.delivery d
         join posthorn.dispatcher x on x.id = d.dispatcher_id
         join posthorn.endpoint e on e.id = d.endpoint_id
         where d.state = 1 and x.pid = $1`,
        [dispatcher.pid],
      )
      return rows
    },
    async drained(timeoutMs) {
      await eventually(async () => {
        const { rows } = await pool.query<{ state: number; n: number }>(
          'select d.state, count(*)::int as n from posthorn.delivery d group by d.state order by d.state',
        )
        if (rows.length > 0) throw new Error(`owed still, by state: ${JSON.stringify(rows)}`)
        return true
      }, timeoutMs)
    },
    stop() {
      stopping ??= (async () => {
        const processes = [cluster.api, ...cluster.dispatchers]
        for (const each of processes) each?.signal('SIGKILL')
        await Promise.all(processes.map((each) => each?.exited))
        await pool.end()
        await own?.drop()
      })()
      return stopping
    },
  }
  try {
    const dispatchers = Array.from({ length: options.dispatchers ?? 1 }, () => cluster.startDispatcher())
    await Promise.all([cluster.startApi(), ...dispatchers])
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

function accepted(answer: ApiAnswer, status: number): ApiAnswer {
  if (answer.status !== status) throw new Error(`the API answered ${answer.status}: ${answer.bytes.toString()}`)
  return answer
}
