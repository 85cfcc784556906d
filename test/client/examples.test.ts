import { execFile, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { verify } from '@posthorn/client/verify'
import { generateSecret } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { cacheFolder } from '../support/cache-folder.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnCommand, spawnNode } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from './free-port.ts'

/*
 * The examples as they stand: each publishes as a user with the role posthorn_publisher, a real dispatcher sends what they
 * published, and the receivers among them verify it.
 */
const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const examples = `${root}examples/`
const secret = generateSecret()
const user = `shop_${process.pid}`

let cluster: Cluster
let receiver: SpawnedProcess
let databaseUrl: string

beforeAll(async () => {
  cluster = await startCluster()
  await cluster.pool.query(`create role ${user} login password 'test'`)
  await cluster.pool.query(`grant posthorn_publisher to ${user}`)
  await cluster.pool.query(`grant create, usage on schema public to ${user}`)
  const url = new URL(cluster.databaseUrl)
  url.username = user
  url.password = 'test'
  databaseUrl = url.href
  const env = { POSTHORN_WEBHOOK_SECRET: secret, PORT: '0' }
  receiver = spawnNode(`${examples}express-receiver/main.ts`, [], env, { outlivesTest: true })
  const line = await receiver.waitForLine(/receiving on/, 20_000)
  await cluster.makeEndpoint('acme', { url: line.split(' on ')[1]!, secret })
})
afterAll(async () => {
  if (!cluster) return
  await cluster.pool.query(`drop owned by ${user} cascade`)
  await cluster.pool.query(`drop role ${user}`)
  await cluster.stop()
})

/** What `acme` has published from there. */
async function publishedFrom(from: string): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ payload: string }>(
    `select convert_from(e.payload, 'UTF8') as payload from posthorn.event e where e.tenant_id = 'acme'`,
  )
  return rows.map(({ payload }) => payload).filter((payload) => payload.includes(`"from"`) && payload.includes(from))
}

const psql = spawnSync('psql', ['--version']).status === 0
if (!psql) console.warn('SKIPPED: the psql example is not run, for there is no psql here (apt: postgresql-client)')

test.skipIf(!psql)('psql: what is committed arrives, what is rolled back was never published', async () => {
  const args = [databaseUrl, '-v', 'ON_ERROR_STOP=1', '-f', `${examples}psql/publish.sql`]
  await run('psql', args)
  expect(await receiver.waitForLine(/"psql"/, 30_000)).toMatch(/^invoice\.paid \{"id" : 1042, "total" : 99\.50/)
  // Again: the idempotency key holds the event to one.
  await run('psql', args)
  expect(await publishedFrom('psql')).toHaveLength(1)
})

test('Drizzle: the same', async () => {
  const { stdout } = await run(process.execPath, [`${examples}drizzle/main.ts`], { env: { DATABASE_URL: databaseUrl } })
  expect(stdout).toMatch(/^published evt_\w+\nrolled back\n$/)
  expect(await receiver.waitForLine(/"drizzle"/, 30_000)).toBe('invoice.paid {"id":1042,"from":"drizzle"}')
  expect(await publishedFrom('drizzle')).toHaveLength(1)
})

test('Prisma: the same', async () => {
  const cwd = `${examples}prisma`
  await run(`${cwd}/node_modules/.bin/prisma`, ['generate'], { cwd, env: { PATH: process.env['PATH'] } })
  const { stdout } = await run(process.execPath, [`${cwd}/main.ts`], { env: { DATABASE_URL: databaseUrl } })
  expect(stdout).toMatch(/^published evt_\w+\nrolled back\n$/)
  expect(await receiver.waitForLine(/"prisma"/, 30_000)).toBe('invoice.paid {"id":1042,"from":"prisma"}')
  expect(await publishedFrom('prisma')).toHaveLength(1)
})

test('what a dispatcher signs with both versions is verified with either, and with what the API shows after a rotation', async () => {
  const target = await startReceiver()
  onTestFinished(() => target.close())
  const { url } = target
  const endpoint = await cluster.makeEndpoint('both', { url, signatures: ['v1', 'v1a'] })
  const { body: before } = await cluster.call('GET', `/tenants/both/endpoints/${endpoint.id}/secret`)
  await cluster.call('POST', `/tenants/both/endpoints/${endpoint.id}/secret/rotate`, { json: {} })
  const { body: after } = await cluster.call('GET', `/tenants/both/endpoints/${endpoint.id}/secret`)
  const keysOf = (body: { secrets: { secret: string | null; public_key: string | null }[] }) =>
    body.secrets.map(({ secret, public_key }) => secret ?? public_key!)
  const keys = new Set([...keysOf(before), ...keysOf(after)])
  expect([...keys].map((key) => key.slice(0, 5))).toEqual(expect.arrayContaining(['whsec', 'whpk_']))
  const id = await cluster.publish('both', 'a.b', '{"n": 1.0}')
  const [request] = await target.waitFor(1, 30_000)
  for (const key of keys) expect((await verify(key, request!.headers, request!.body)).id).toBe(id)
  const other = generateSecret()
  await expect(verify(other, request!.headers, request!.body)).rejects.toMatchObject({ code: 'no_match' })
})

const python = await createVenv()
if (typeof python === 'object') console.warn(`SKIPPED: the Django example is not run: ${python.missing}`)

describe.skipIf(typeof python === 'object')('Django', () => {
  let django: string
  let endpoint: string
  const cwd = `${examples}django`
  const env = () => ({
    PYTHONDONTWRITEBYTECODE: '1',
    DATABASE_URL: databaseUrl,
    POSTHORN_WEBHOOK_SECRET: `whsec_${'A'.repeat(32)},${secret}`,
  })

  beforeAll(async () => {
    await run(String(python), ['manage.py', 'migrate'], { cwd, env: env() })
    const place = `127.0.0.1:${await freePort()}`
    const args = ['-u', 'manage.py', 'runserver', '--noreload', place]
    const server = spawnCommand(String(python), args, env(), { cwd, outlivesTest: true })
    await server.waitForLine(/Quit the server/, 20_000)
    django = `http://${place}`
    endpoint = (await cluster.makeEndpoint('acme', { url: `${django}/webhooks`, secret })).id
  })

  const pay = (id: string) => fetch(`${django}/invoices/${id}/pay`, { method: 'POST' })
  const paid = async (id: number) => {
    const { rows } = await cluster.pool.query('select i.paid_at from shop_invoice i where i.id = $1', [id])
    return rows.length === 1
  }

  test('a model saved and an event published in transaction.atomic() arrive at a view that verifies', async () => {
    const answer = await pay('1042')
    expect(answer.status).toBe(200)
    const { event } = (await answer.json()) as { event: string }
    const got = await eventually(async () => {
      const { data } = (await (await fetch(`${django}/received`)).json()) as { data: { id: string; body: string }[] }
      return data.find(({ id }) => id === event)
    }, 30_000)
    expect(got.body).toBe('{"id":1042,"from":"django"}')
    expect(await paid(1042)).toBe(true)
    await eventually(async () => (await cluster.delivery('acme', event, endpoint)).body.state === 'succeeded', 30_000)
  })

  test('an exception in the block takes both back', async () => {
    expect((await fetch(`${django}/invoices/1044/pay?refused`, { method: 'POST' })).status).toBe(500)
    expect(await paid(1044)).toBe(false)
    expect(await publishedFrom('django')).toEqual(['{"id":1042,"from":"django"}'])
  })

  test('what nobody signed is refused', async () => {
    const forged = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
    for (const signature of ['v1,AAAA', 'nonsense', 'v1,=']) {
      const headers = { ...forged, 'webhook-signature': signature }
      expect((await fetch(`${django}/webhooks`, { method: 'POST', headers, body: '{}' })).status).toBe(401)
    }
    expect((await fetch(`${django}/webhooks`, { method: 'POST', body: '{}' })).status).toBe(401)
  })
})

/** A Python with what the example needs, kept for later runs; or why there is none. */
async function createVenv(): Promise<string | { missing: string }> {
  const requirements = `${examples}django/requirements.txt`
  try {
    const folder = await cacheFolder('django', await readFile(requirements, 'utf8'), async (made) => {
      await run('python3', ['-m', 'venv', made])
      const install = ['-m', 'pip', 'install', '-q', '--retries', '1', '--timeout', '10', '-r', requirements]
      await run(`${made}/bin/python`, install)
    })
    return `${folder}/bin/python`
  } catch (error) {
    return {
      missing: `no Python 3 with venv and Django (${(error as Error).message.split('\n').slice(0, 2).join(': ')})`,
    }
  }
}
