import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { generateSecret, generateSigningKey } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiAnswer, type Cluster, startCluster } from '../support/cluster.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { findPlanted, type Planted, plant } from '../support/planted.ts'
import { type Exit, spawnPosthorn } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { admin } from '../support/template.ts'
import { eventually } from '../support/wait.ts'

/*
 * Secrets of every kind go through a whole run of real processes that log all they can, failures included. Then none of them
 * may stand in what was printed, answered or stored.
 */

const waitMs = 30_000
const random = (): string => randomBytes(18).toString('hex')

const planted: Planted[] = []
/** All that processes printed, by name. */
const printed = new Map<string, () => string>()
/** What the API answered, but for the answers whose purpose is to show a secret. */
const answered: string[] = []

let database: TestDatabase
let cluster: Cluster
let receiver: Receiver
let role: string
/** It is stored and shown as part of its URL, and not written anywhere else. */
const urlToken = `planted-${random()}`
const key = randomBytes(32)
const previousKey = randomBytes(32)
const env = {
  POSTHORN_LOG_LEVEL: 'trace',
  POSTHORN_ENCRYPTION_KEY: key.toString('base64'),
  POSTHORN_ENCRYPTION_KEY_PREVIOUS: previousKey.toString('base64'),
}

function hide(name: string, value: string): string {
  planted.push(plant(name, value))
  const written = /^wh(?:sec|sk)_([A-Za-z0-9+/=]+)$/.exec(value)?.[1]
  if (written !== undefined) planted.push(plant(`${name}, its bytes`, Buffer.from(written, 'base64')))
  return value
}

beforeAll(async () => {
  database = await createTestDatabase()
  // A role with a password, in the URL of every process.
  const password = hide('the database password', `planted-${random()}`)
  role = `planted_${randomBytes(6).toString('hex')}`
  await admin(database.url, `create role ${role} login superuser password '${password}'`)
  const url = new URL(database.url)
  url.username = role
  url.password = password
  receiver = await startReceiver({
    respond({ path }) {
      if (path.startsWith('/fails')) return { status: 500, body: 'no' }
      if (path.startsWith('/resets')) return 'reset'
      if (path.startsWith('/hangs')) return 'hang'
      if (path.startsWith('/gone')) return { status: 410 }
      return { status: 200, body: 'thank you', headers: { 'x-answer': 'yes' } }
    },
  })
  planted.push(plant('the encryption key', env.POSTHORN_ENCRYPTION_KEY), plant('its bytes', key))
  planted.push(plant('the previous key', env.POSTHORN_ENCRYPTION_KEY_PREVIOUS), plant('its bytes', previousKey))
  // The token of every call of a cluster.
  planted.push(plant("the operator's token", 'phk_operator-of-the-tests'))
  cluster = await startCluster({ databaseUrl: url.href, env })
  const { api, dispatchers } = cluster
  printed.set('api', api.output)
  printed.set('dispatcher', () => dispatchers.map((each) => each.output()).join('\n'))
}, 60_000)

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  if (role !== undefined) await admin(database.url, `drop role if exists ${role}`).catch(() => undefined)
  await database?.drop()
})

async function call(method: string, path: string, options: Parameters<Cluster['call']>[2] = {}): Promise<ApiAnswer> {
  const answer = await cluster.call(method, path, options)
  answered.push(`${method} ${path}\n${JSON.stringify([...answer.headers])}\n${answer.bytes.toString()}`)
  return answer
}

/** Calls without keeping the answer: it is to show a secret. */
async function reveal(method: string, path: string, json: unknown, status: number) {
  const answer = await cluster.call(method, path, json === undefined ? {} : { json })
  expect(answer.status, answer.bytes.toString()).toBe(status)
  return answer.body
}

async function runToEnd(
  name: string,
  given: Parameters<typeof spawnPosthorn>[0],
  more: Record<string, string>,
): Promise<Exit> {
  const child = spawnPosthorn(given, {
    POSTHORN_DATABASE_URL: cluster.databaseUrl,
    POSTHORN_PORT: '0',
    ...env,
    ...more,
  })
  printed.set(name, child.output)
  return child.exited
}

async function makeEndpoint(path: string, more: object = {}): Promise<string> {
  const header = hide(`a header of ${path}`, `Bearer planted-${random()}`)
  const json = {
    url: `${receiver.url}${path}`,
    headers: { authorization: header, 'x-key': header },
    retry_schedule: [0, 600],
    ...more,
  }
  const made = await reveal('POST', '/tenants/acme/endpoints', json, 201)
  if (made.secret !== null) hide(`the secret of ${path}`, made.secret)
  return made.id
}

test('webhooks are sent and fail in every way, with secrets everywhere', { timeout: 90_000 }, async () => {
  const own = hide('a secret of the product', generateSecret())
  const signing = hide('a private key of the product', generateSigningKey().secret)
  const good = await makeEndpoint('/good', { secret: own, uid: 'good' })
  await makeEndpoint('/signed', { secret: signing })
  await makeEndpoint('/both', { signatures: ['v1', 'v1a'] })
  await makeEndpoint('/fails')
  await makeEndpoint('/resets')
  await makeEndpoint('/hangs', { timeout_ms: 1_000 })
  await makeEndpoint('/gone')
  await makeEndpoint('/refused', { url: `http://127.0.0.1:1/?token=${urlToken}` })
  await makeEndpoint('/no-tls', { url: receiver.url.replace('http:', 'https:') })
  await makeEndpoint('/no-name', { url: `https://planted.invalid/?token=${urlToken}` })

  for (let i = 0; i < 3; i++) await cluster.publish('acme', 'a.b', '{"marker":"planted-payload"}')
  await receiver.waitFor((request) => request.path === '/good', waitMs)
  // Each has been attempted, and the failed ones wait for their last retry or have ended.
  await eventually(async () => {
    const { rows } = await cluster.pool.query(
      'select count(*)::integer as n from posthorn.delivery where state in (0, 1)',
    )
    const { rows: logged } = await cluster.pool.query(
      'select count(distinct endpoint_id)::integer as n from posthorn.attempt',
    )
    return rows[0].n === 0 && logged[0].n === 10
  }, waitMs)
  expect((await call('POST', '/tenants/acme/endpoints/good/test')).status).toBe(200)

  hide(
    'a rotated secret',
    (await reveal('POST', '/tenants/acme/endpoints/good/secret/rotate', {}, 200)).secrets[0].secret,
  )
  const shown = await reveal('GET', '/tenants/acme/endpoints/good/secret', undefined, 200)
  // What is looked for can be found: the one answer that has it.
  expect(findPlanted(planted, JSON.stringify(shown)).length).toBeGreaterThanOrEqual(2)
  const json = { headers: { 'x-key': hide('a changed header', `planted-${random()}`) } }
  expect((await call('PATCH', `/tenants/acme/endpoints/${good}`, { json })).status).toBe(200)

  const { data } = (await call('GET', '/tenants/acme/deliveries?limit=200')).body
  // The one that is gone is owed no more once it has said so.
  expect(data.length).toBeGreaterThanOrEqual(28)
  for (const { event_id: event, endpoint_id: endpoint } of data) {
    await call('GET', `/tenants/acme/events/${event}/deliveries/${endpoint}/attempts`)
  }
  for (const path of [
    '/tenants/acme/endpoints',
    '/tenants/acme/endpoints/good',
    '/tenants/acme/endpoints/good/stats',
  ]) {
    expect((await call('GET', path)).status).toBe(200)
  }
})

test('keys are made, used, refused and revoked', async () => {
  const tokens: string[] = []
  for (const kind of ['tenant', 'publish', 'operator']) {
    const tenant = kind === 'operator' ? {} : { tenant_id: 'acme' }
    const made = await reveal('POST', '/api-keys', { name: kind, kind, ...tenant }, 201)
    tokens.push(hide(`a ${kind} key`, made.token))
    const headers = { authorization: `Bearer ${made.token}` }
    await call('GET', '/tenants/acme/endpoints', { headers })
    expect((await call('DELETE', `/api-keys/${made.id}`)).status).toBe(204)
    expect((await call('GET', '/tenants/acme/endpoints', { headers })).status).toBe(401)
  }
  const unknown = hide('an unknown token', `phk_${randomBytes(32).toString('base64url')}`)
  expect((await call('GET', '/tenants', { headers: { authorization: `Bearer ${unknown}` } })).status).toBe(401)
  const basic = hide('a password', `planted-${random()}`)
  const authorization = `Basic ${Buffer.from(`me:${basic}`).toString('base64')}`
  expect((await call('GET', '/tenants', { headers: { authorization } })).status).toBe(401)
  expect((await call('GET', '/api-keys')).body.data.length).toBe(3)
})

test('secrets in what is refused are not repeated', async () => {
  const at = '/tenants/acme/endpoints'
  const bad = hide('a secret that is none', `whsec_planted_${random()}`)
  const url = 'https://example.com/'
  const password = hide('a password in a URL', `planted-${random()}`)
  const header = hide('a header that is none', `planted-${random()}`)
  const cut = hide('a secret in half a body', generateSecret())
  const twice = hide('a secret that stands twice', generateSecret())
  for (const [options, status] of [
    [{ json: { url, secret: bad } }, 422],
    [{ json: { url: `https://me:${password}@example.com/` } }, 422],
    [{ json: { url, headers: { 'x-key': `${header}\r\nx: y` } } }, 422],
    [{ json: { url, headers: { host: header } } }, 422],
    [{ raw: `{"url":"${url}","secret":"${cut}` }, 400],
    [{ raw: `{"url":"${url}","secret":"${twice}","secret":"${twice}"}` }, 400],
    [{ json: { url, secrets: twice } }, 422],
    [{ json: { url, secret: [twice] } }, 422],
  ] as const) {
    expect((await call('POST', at, options)).status).toBe(status)
  }
  for (const json of [{ secret: bad }, { secret: cut, grace_seconds: -1 }]) {
    expect((await call('POST', `${at}/good/secret/rotate`, { json })).status).toBe(422)
  }
  // No HTTP, with a token in it.
  const line = await cluster.api.waitForLine(/"msg":"api listening"/, waitMs)
  const socket = connect(JSON.parse(line).port, '127.0.0.1')
  const raw = hide('a token in what is no HTTP', `phk_planted-${random()}`)
  socket.end(`authorization Bearer ${raw}\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += chunk
  answered.push(text)
})

test('the database fails, and values in it are not what they were', async () => {
  // Every connection is cut, several times, while things go on.
  for (let turn = 0; turn < 3; turn++) {
    await cluster.pool
      .query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      .catch(() => undefined)
    const json = {
      url: `${receiver.url}/cut`,
      headers: { 'x-key': hide('a header while it failed', `planted-${random()}`) },
    }
    const made = await cluster.call('POST', '/tenants/acme/endpoints', { json })
    if (made.status === 201) hide('a secret made while it failed', made.body.secret)
    else answered.push(made.bytes.toString())
    const event = await cluster.call('POST', '/tenants/acme/events', { json: { type: 'a.b', payload: { turn } } })
    answered.push(event.bytes.toString())
  }
  // A uid that is taken: the database's own message holds the row's values.
  const taken = {
    url: 'https://example.com/',
    uid: 'good',
    secret: hide('a secret beside a taken uid', generateSecret()),
  }
  await eventually(async () => (await call('POST', '/tenants/acme/endpoints', { json: taken })).status === 409, waitMs)
  const id = await makeEndpoint('/tampered')
  await cluster.pool.query(
    `update posthorn.endpoint e set headers_sealed = set_byte(e.headers_sealed, 30, 255 - get_byte(e.headers_sealed, 30)),
       version = version + 1 where posthorn.type_id('ep', e.id) = $1`,
    [id],
  )
  await cluster.publish('acme', 'a.b', '{}')
  await cluster.dispatchers[0]!.waitForLine(/could not be opened for sending/, waitMs)
  expect((await call('DELETE', `/tenants/acme/endpoints/${id}`)).status).toBe(204)
})

test('processes that cannot start say why, and nothing more', { timeout: 60_000 }, async () => {
  const short = hide('a key that is none', `planted-${random()}`)
  const away = new URL(cluster.databaseUrl)
  away.port = '1'
  const wrong = new URL(cluster.databaseUrl)
  wrong.pathname = '/planted_nothing'
  const runs: [string, Parameters<typeof spawnPosthorn>[0], Record<string, string>][] = [
    ['another encryption key', 'api', { POSTHORN_ENCRYPTION_KEY: hideKey(), POSTHORN_ENCRYPTION_KEY_PREVIOUS: '' }],
    [
      'another for the dispatcher',
      'dispatcher',
      { POSTHORN_ENCRYPTION_KEY: hideKey(), POSTHORN_ENCRYPTION_KEY_PREVIOUS: '' },
    ],
    ['no such key', 'reencrypt', { POSTHORN_ENCRYPTION_KEY: hideKey(), POSTHORN_ENCRYPTION_KEY_PREVIOUS: '' }],
    ['a short encryption key', 'api', { POSTHORN_ENCRYPTION_KEY: short }],
    ['a short previous key', 'api', { POSTHORN_ENCRYPTION_KEY_PREVIOUS: short }],
    ['a token with a space', 'api', { POSTHORN_API_KEY: `${short} x` }],
    [
      'a database URL of another kind',
      'api',
      { POSTHORN_DATABASE_URL: cluster.databaseUrl.replace('postgres', 'mysql') },
    ],
    ['a listen URL of another kind', 'dispatcher', { POSTHORN_LISTEN_URL: `http://me:${short}@db` }],
    ['a proxy of another kind', 'dispatcher', { POSTHORN_EGRESS_PROXY: `ftp://me:${short}@proxy:1` }],
    ['a database that is not there', 'migrate', { POSTHORN_DATABASE_URL: wrong.href }],
  ]
  const exits = await Promise.all(runs.map(([name, given, more]) => runToEnd(name, given, more)))
  expect(exits.every((exit) => exit.code === 1)).toBe(true)
  for (const [name] of runs) expect(printed.get(name)!()).toMatch(/^posthorn: /m)
  // One that waits for its database, and is stopped.
  const waiting = spawnPosthorn('api', { ...env, POSTHORN_DATABASE_URL: away.href, POSTHORN_PORT: '0' })
  printed.set('a database that does not answer', waiting.output)
  await waiting.waitForLine(/does not answer yet/, waitMs)
  waiting.signal('SIGTERM')
  await waiting.exited
})

function hideKey(): string {
  const bytes = randomBytes(32)
  planted.push(plant('another encryption key, its bytes', bytes))
  return hide('another encryption key', bytes.toString('base64'))
}

test('re-encrypting and stopping say nothing either', async () => {
  const fresh = hideKey()
  const rotation = { POSTHORN_ENCRYPTION_KEY: fresh, POSTHORN_ENCRYPTION_KEY_PREVIOUS: env.POSTHORN_ENCRYPTION_KEY }
  // The headers that were tampered with are named, and all else is done.
  expect((await runToEnd('reencrypt', 'reencrypt', rotation)).code).toBe(1)
  for (const each of [cluster.api, ...cluster.dispatchers]) each.signal('SIGTERM')
  await Promise.all([cluster.api, ...cluster.dispatchers].map((each) => each.exited))

  // One that sends through a proxy that is not there, whose password it was given.
  const proxy = `http://me:${hide('the password of the proxy', `planted-${random()}`)}@127.0.0.1:1`
  const settings = { POSTHORN_DATABASE_URL: cluster.databaseUrl, ...env, ...rotation, POSTHORN_EGRESS_PROXY: proxy }
  const proxied = spawnPosthorn('dispatcher', { ...settings, POSTHORN_ALLOWED_TARGETS: '127.0.0.1/32' })
  printed.set('dispatcher with a proxy', proxied.output)
  await cluster.pool.query(`select posthorn.publish('acme', 'a.b', '{"through":"the proxy"}')`)
  await proxied.waitForLine(/proxy/, waitMs)
  proxied.signal('SIGTERM')
  await proxied.exited
}, 60_000)

test('no secret was printed', () => {
  expect(planted.length).toBeGreaterThan(60)
  for (const [name, output] of printed) {
    expect(output(), `${name} printed nothing: this looks at no output`).not.toBe('')
    const inUrls = plant('a token in a URL', urlToken)
    expect({ name, found: findPlanted([...planted, inUrls], output()) }).toEqual({ name, found: [] })
  }
  expect(printed.get('api')!().split('\n').length).toBeGreaterThan(3)
})

test('no secret was answered where it was not asked for', () => {
  expect(answered.length).toBeGreaterThan(50)
  for (const text of answered)
    expect({ answer: text.slice(0, 80), found: findPlanted(planted, text) }).toMatchObject({ found: [] })
})

test('no secret is stored in the clear', async () => {
  const { rows: messages } = await cluster.pool.query<{ message: string }>(
    'select distinct a.error_message as message from posthorn.attempt a where a.error_message is not null',
  )
  expect(messages.length).toBeGreaterThan(3)
  for (const { message } of messages) expect(message).not.toContain(urlToken)
  const { rows: tables } = await cluster.pool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('posthorn', 'posthorn_partitions') and c.relkind in ('r', 'p')`,
  )
  const names = tables.map((table) => table.name)
  expect(names).toEqual(expect.arrayContaining(['posthorn.endpoint_secret', 'posthorn.api_key', 'posthorn.attempt']))
  const parts: string[] = []
  for (const name of names) {
    const { rows } = await cluster.pool.query<{ text: string }>(`select t::text as text from ${name} t`)
    const dump = rows.map((row) => row.text).join('\n')
    parts.push(dump)
    expect({ name, found: findPlanted(planted, dump) }).toEqual({ name, found: [] })
  }
  // The dump holds what is stored, and bytes can be found in it.
  expect(findPlanted([plant('the payload', 'planted-payload')], parts.join('\n'))).not.toEqual([])
})
