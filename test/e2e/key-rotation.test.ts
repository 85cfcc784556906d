import { randomBytes } from 'node:crypto'
import { createVault, uuidV7 } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnPosthorn } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { verifyWebhook } from '../support/webhooks.ts'

/* A change of the encryption key, as docs/security.md says it is done, with everything running. */

const oldKey = randomBytes(32).toString('base64')
const newKey = randomBytes(32).toString('base64')
const oldVault = createVault(oldKey)
const newVault = createVault(newKey)
const startMs = 20_000
const manySecrets = 1_234

let cluster: Cluster
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  // The first step has been taken: the new key opens already, and does not seal yet.
  const env = { POSTHORN_ENCRYPTION_KEY: oldKey, POSTHORN_ENCRYPTION_KEY_PREVIOUS: newKey }
  cluster = await startCluster({ env })
})
afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
})

function run(role: 'reencrypt' | 'api' | 'dispatcher', env: Record<string, string>): SpawnedProcess {
  return spawnPosthorn(role, { POSTHORN_DATABASE_URL: cluster.databaseUrl, POSTHORN_PORT: '0', ...env })
}

const rotated = { POSTHORN_ENCRYPTION_KEY: newKey, POSTHORN_ENCRYPTION_KEY_PREVIOUS: oldKey }

/** How many values each key has sealed. */
async function sealedBy(): Promise<{ old: number; new: number }> {
  const { rows } = await cluster.pool.query<{ head: Buffer; n: number }>(
    `select substring(x.sealed for 5) as head, count(*)::integer as n from (
       select sealed from posthorn.endpoint_secret
       union all select headers_sealed from posthorn.endpoint where headers_sealed is not null) x group by 1`,
  )
  const of = (head: Buffer): number => rows.find((row) => row.head.equals(head))?.n ?? 0
  return { old: of(oldVault.head), new: of(newVault.head) }
}

/** So many secrets that expired long ago: they are still there, and must not keep the old key needed. */
async function fill(endpoint: string, count: number): Promise<void> {
  await cluster.pool.query(
    `insert into posthorn.endpoint_secret (id, endpoint_id, sealed, expires_at)
     select u.id, (select e.id from posthorn.endpoint e where posthorn.type_id('ep', e.id) = $1), u.sealed, now() - interval '1 day'
     from unnest($2::uuid[], $3::bytea[]) u(id, sealed)`,
    [endpoint, Array.from({ length: count }, uuidV7), Array.from({ length: count }, (_, i) => oldVault.seal(`s${i}`))],
  )
}

test('another key is one clear line, which holds neither', async () => {
  await cluster.makeEndpoint('acme', { url: `${receiver.url}/a`, uid: 'a', headers: { 'x-key': 'value-a' } })
  for (const role of ['api', 'dispatcher'] as const) {
    const wrong = run(role, { POSTHORN_ENCRYPTION_KEY: newKey })
    expect(await wrong.exited).toEqual({ code: 1, signal: null })
    const lines = wrong
      .output()
      .split('\n')
      .filter((line) => !line.includes('POSTHORN_API_KEY is not set'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/POSTHORN_ENCRYPTION_KEY is not the key .*POSTHORN_ENCRYPTION_KEY_PREVIOUS/)
    for (const key of [oldKey, newKey]) expect(wrong.output()).not.toContain(key.slice(0, 10))
  }
})

test('without the previous key nothing is re-encrypted, and that is said', async () => {
  const before = await sealedBy()
  const alone = run('reencrypt', { POSTHORN_ENCRYPTION_KEY: newKey })
  expect(await alone.exited).toEqual({ code: 1, signal: null })
  expect(alone.output()).toMatch(/2 values cannot be opened with these keys.*\(endpoints ep_\w+, ep_\w+\)/)
  expect(await sealedBy()).toEqual(before)
})

test('the key is changed while everything runs, and no webhook goes unsigned', async () => {
  const made = await cluster.makeEndpoint('acme', {
    url: `${receiver.url}/b`,
    uid: 'b',
    headers: { 'x-key': 'value-b' },
  })
  await fill(made.id, manySecrets)
  const first = await cluster.call('GET', '/tenants/acme/endpoints/a/secret')
  const secrets: Record<string, string> = { '/a': first.body.secrets[0].secret, '/b': made.secret }

  // Changes by a process that still seals with the old key, while the new one takes over.
  let changing = true
  const changes = (async () => {
    for (let turn = 0; changing; turn++) {
      const json = { headers: { 'x-key': 'value-b', 'x-turn': String(turn) } }
      expect((await cluster.call('PATCH', '/tenants/acme/endpoints/b', { json })).status).toBe(200)
      await cluster.publish('acme', 'a.b', `{"turn":${turn}}`)
    }
  })()
  const both = [run('reencrypt', rotated), run('reencrypt', rotated)]
  for (const each of both) {
    expect(await each.exited).toEqual({ code: 0, signal: null })
    expect(each.output()).toMatch(/^re-encrypted \d+ secrets and the headers of \d+ endpoints; nothing is sealed/m)
  }
  const counted = both.map((each) => Number(/re-encrypted (\d+) secrets/.exec(each.output())![1]))
  expect(counted[0]! + counted[1]!).toBe(manySecrets + 2)

  // The second step: every process seals with the new key.
  cluster.dispatchers[0]!.signal('SIGTERM')
  await cluster.startDispatcher(rotated)
  changing = false
  await changes
  cluster.api.signal('SIGTERM')
  await cluster.api.exited
  await cluster.startApi(rotated)

  // The third: once more, for what the old processes sealed meanwhile.
  const last = run('reencrypt', rotated)
  expect(await last.exited).toEqual({ code: 0, signal: null })
  expect((await sealedBy()).old).toBe(0)
  const again = run('reencrypt', rotated)
  expect(await again.exited).toEqual({ code: 0, signal: null })
  expect(again.output()).toContain('re-encrypted 0 secrets and the headers of 0 endpoints')

  // The last: the old key is gone.
  cluster.api.signal('SIGTERM')
  await cluster.api.exited
  for (const each of cluster.dispatchers) each.signal('SIGTERM')
  await Promise.all(cluster.dispatchers.map((each) => each.exited))
  const alone = { POSTHORN_ENCRYPTION_KEY: newKey, POSTHORN_ENCRYPTION_KEY_PREVIOUS: '' }
  await cluster.startApi(alone)
  await cluster.startDispatcher(alone)
  await cluster.publish('acme', 'a.b', '{"turn":"last"}')
  await receiver.waitFor((request) => request.path === '/b' && request.body.toString().includes('last'), startMs)
  await cluster.drained(startMs)
  for (const request of receiver.requests) {
    verifyWebhook(secrets[request.path]!, request)
    expect(request.headers['x-key']).toBe(`value${request.path.replace('/', '-')}`)
  }
  const { rows } = await cluster.pool.query('select count(*)::integer as n from posthorn.attempt where outcome <> 1')
  expect(rows[0].n).toBe(0)
})

test('what another transaction holds is waited for, while the rest goes on', async () => {
  const { id } = await cluster.makeEndpoint('held', { url: `${receiver.url}/held`, headers: { 'x-key': 'v' } })
  await fill(id, 10)
  const client = await cluster.pool.connect()
  try {
    await client.query('begin')
    const held = `(select s.id from posthorn.endpoint_secret s where substring(s.sealed for 5) = $1 order by s.id limit 1)`
    await client.query(`select from posthorn.endpoint_secret s where s.id = ${held} for update`, [oldVault.head])
    const running = run('reencrypt', rotated)
    await eventually(async () => (await sealedBy()).old === 1, startMs)
    await client.query('rollback')
    expect(await running.exited).toEqual({ code: 0, signal: null })
    expect((await sealedBy()).old).toBe(0)
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('a value that was tampered with is named, and all others are done', async () => {
  const { id } = await cluster.makeEndpoint('bad', { url: `${receiver.url}/bad` })
  await fill(id, 3)
  const one = `(select s.id from posthorn.endpoint_secret s where substring(s.sealed for 5) = $1 order by s.id limit 1)`
  await cluster.pool.query(
    `update posthorn.endpoint_secret s set sealed = set_byte(s.sealed, 30, 255 - get_byte(s.sealed, 30)) where s.id = ${one}`,
    [oldVault.head],
  )
  const result = run('reencrypt', rotated)
  expect(await result.exited).toEqual({ code: 1, signal: null })
  expect(result.output()).toContain('re-encrypted 2 secrets')
  expect(result.output()).toContain(
    `1 values cannot be opened with these keys, or were changed after they were sealed (endpoints ${id})`,
  )
  expect((await sealedBy()).old).toBe(1)
})
