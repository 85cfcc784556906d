import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnPosthorn } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestServer } from '../support/test-server.ts'
import { eventually } from '../support/wait.ts'

const startMs = 20_000
const encryptionKey = Buffer.alloc(32, 7).toString('base64')
let cluster: Cluster | undefined

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

async function healthOf(dispatcher: SpawnedProcess): Promise<(path: string) => Promise<[number, unknown]>> {
  const { port } = JSON.parse(await dispatcher.waitForLine(/"msg":"health listening"/, startMs))
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return [response.status, await response.json()]
  }
}

const alive = [200, { status: 'ok' }]
const ready = [200, { status: 'ready', reasons: [] }]
const notReady = (reason: string) => [503, { status: 'not_ready', reasons: [reason] }]

test('a dispatcher tells whether it can work: before its database is there, with it, without it, and with it again', async () => {
  const server = await startTestServer({ migrated: false })
  try {
    await server.kill9()
    const env = { POSTHORN_DATABASE_URL: server.url, POSTHORN_ENCRYPTION_KEY: encryptionKey, POSTHORN_HEALTH_PORT: '0' }
    const dispatcher = spawnPosthorn('dispatcher', env)
    const ask = await healthOf(dispatcher)
    expect([await ask('/healthz'), await ask('/readyz')]).toEqual([alive, notReady('it is starting')])
    await server.restart()
    await dispatcher.waitForLine(/"msg":"dispatcher ready"/, startMs)
    expect(await ask('/readyz')).toEqual(ready)

    await server.kill9()
    await dispatcher.waitForLine(/no heartbeat was answered in time/, 30_000)
    expect([await ask('/healthz'), await ask('/readyz')]).toEqual([
      alive,
      notReady('no heartbeat was answered in time'),
    ])
    await server.restart()
    await eventually(async () => (await ask('/readyz'))[0] === 200, startMs)

    expect((await ask('/'))[0]).toBe(404)
    dispatcher.signal('SIGTERM')
    expect(await dispatcher.exited).toEqual({ code: 0, signal: null })
  } finally {
    await server.stop()
  }
})

test('a dispatcher that drains says so, and still answers', async () => {
  const { promise: answer, resolve: release } = Promise.withResolvers<{ status: number }>()
  const receiver = await startReceiver({ respond: () => answer })
  cluster = await startCluster({ dispatchers: 0 })
  const dispatcher = await cluster.startDispatcher({ POSTHORN_HEALTH_PORT: '0' })
  const ask = await healthOf(dispatcher)
  await cluster.makeEndpoint('acme', { url: receiver.url })
  await cluster.publish('acme', 'invoice.paid', '{}')
  await receiver.waitFor(1, startMs)
  dispatcher.signal('SIGTERM')
  await eventually(async () => (await ask('/readyz'))[0] === 503, startMs)
  expect([await ask('/healthz'), await ask('/readyz')]).toEqual([alive, notReady('it is stopping')])
  release({ status: 200 })
  expect(await dispatcher.exited).toEqual({ code: 0, signal: null })
  await receiver.close()
})

test('a health port that is taken is named, and the dispatcher does not start', async () => {
  const other = createServer()
  await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
  const { port } = other.address() as { port: number }
  const dispatcher = spawnPosthorn('dispatcher', {
    POSTHORN_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    POSTHORN_ENCRYPTION_KEY: encryptionKey,
    POSTHORN_HEALTH_PORT: String(port),
  })
  expect(await dispatcher.exited).toEqual({ code: 1, signal: null })
  expect(dispatcher.output()).toBe(
    `posthorn: POSTHORN_HEALTH_PORT: port ${port} of 127.0.0.1 is taken: stop what listens there, or set another`,
  )
  await new Promise((closed) => other.close(closed))
})
