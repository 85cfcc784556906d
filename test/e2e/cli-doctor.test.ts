import { fileURLToPath } from 'node:url'
import { readHorizon } from '@posthorn/core/sql'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../client/free-port.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { createTestDatabase } from '../support/database.ts'
import { databaseUrl } from '../support/template.ts'
import { eventually } from '../support/wait.ts'
import { type Cli, cliOf, createCli, objectsOf, type RunOptions, runOnTerminal } from './cli-under-test.ts'

type Check = { name: string; state: 'ok' | 'warn' | 'fail' | 'skip'; message: string; todo: string | null }
type Found = { code: number | null; checks: Check[]; of(name: string): Check[] }

const encryptionKey = Buffer.alloc(32, 7).toString('base64')
const shiftClock = ['--import', fileURLToPath(new URL('../support/clock-an-hour-ahead.ts', import.meta.url))]

let cluster: Cluster
let cli: Cli
let env: Record<string, string>
beforeAll(async () => {
  cluster = await startCluster()
  const { env: ofApi } = await cliOf(cluster)
  env = { ...ofApi, POSTHORN_DATABASE_URL: cluster.databaseUrl, POSTHORN_ENCRYPTION_KEY: encryptionKey }
  cli = createCli(env)
})
afterAll(() => cluster?.stop())

async function doctor(more: Record<string, string> = {}, options: RunOptions = {}): Promise<Found> {
  const { code, stdout, stderr } = await cli.run(['doctor', '--json'], { ...options, env: more })
  expect(stderr).toBe('')
  const checks = objectsOf(stdout) as Check[]
  for (const { state, todo } of checks) expect(todo !== null).toBe(state === 'warn' || state === 'fail')
  return { code, checks, of: (name) => checks.filter((each) => each.name === name) }
}

/** A database of the test's own, on which nothing runs. */
async function ownDatabase(): Promise<{ url: string; query: (text: string) => Promise<unknown> }> {
  const database = await createTestDatabase()
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await database.drop()
  })
  return { url: database.url, query: (text) => client.query(text) }
}

test('all is well: each check is ok, and the exit code 0', async () => {
  const { code, checks } = await doctor()
  expect(checks.map(({ name, state }) => `${state} ${name}`)).toEqual([
    ...[
      'ok settings',
      'ok database',
      'ok clock',
      'ok migrations',
      'ok partitions',
      'ok encryption key',
      'ok dispatchers',
    ],
    ...['ok oldest work', 'ok lanes', 'ok vacuum horizon', 'ok api', 'ok api clock', 'ok api key'],
  ])
  expect(code).toBe(0)
  const people = await cli.run(['doctor'])
  expect(people).toMatchObject({ code: 0, stderr: '' })
  expect(people.stdout).toMatch(/^ok {4}settings .*\n(ok {4}[a-z ]+ {2}.+\n){12}$/)
  expect(await runOnTerminal(['doctor'], env)).toContain('\u001b[32mok')
})

test('a setting that is wrong, and a name that is none', async () => {
  const wrong = await doctor({ POSTHORN_RETRY_SCHEDULE: '5' })
  expect(wrong.code).toBe(1)
  expect(wrong.of('settings')).toMatchObject([
    { state: 'fail', message: expect.stringMatching(/^POSTHORN_RETRY_SCHEDULE /) },
  ])
  expect(wrong.of('api')).toMatchObject([{ state: 'ok' }])
  const slip = await doctor({ POSTHORN_PROT: '1' })
  expect(slip.code).toBe(0)
  expect(slip.of('settings')).toMatchObject([{ state: 'warn', message: expect.stringContaining('POSTHORN_PROT') }])
})

test('a clock that is an hour off, beside the database and beside the API', async () => {
  const { code, of } = await doctor({}, { nodeArgs: shiftClock })
  expect(code).toBe(1)
  const ahead = {
    state: 'fail',
    message: expect.stringMatching(/^this machine's clock is 60 min ahead of the/),
    todo: expect.stringMatching(/NTP/),
  }
  expect(of('clock')).toMatchObject([ahead])
  expect(of('api clock')).toMatchObject([ahead])
})

test('a database that is not there, is another, or lets nobody in', async () => {
  const nowhere = await doctor({ POSTHORN_DATABASE_URL: `postgres://u:secret-word@127.0.0.1:${await freePort()}/x` })
  expect(nowhere.code).toBe(1)
  expect(nowhere.of('database')).toMatchObject([
    { state: 'fail', message: expect.stringMatching(/^127\.0\.0\.1:\d+\/x cannot be used: .*ECONNREFUSED/) },
  ])
  expect(JSON.stringify(nowhere.checks)).not.toContain('secret-word')
  const missing = await doctor({ POSTHORN_DATABASE_URL: databaseUrl(inject('adminUrl'), 'posthorn_nowhere') })
  expect(missing.of('database')).toMatchObject([{ state: 'fail', message: expect.stringMatching(/does not exist$/) }])
  const none = await doctor({ POSTHORN_DATABASE_URL: '' })
  expect(none.of('database')).toMatchObject([
    { state: 'fail', todo: expect.stringMatching(/set POSTHORN_DATABASE_URL/) },
  ])
})

test('migrations that are missing, newer or changed; partitions that are missing; no dispatcher', async () => {
  const { url, query } = await ownDatabase()
  const look = () => doctor({ POSTHORN_DATABASE_URL: url })
  const idle = await look()
  expect(idle.code).toBe(1)
  expect(idle.of('dispatchers')).toMatchObject([{ state: 'fail', todo: expect.stringMatching(/posthorn dispatcher/) }])
  expect(idle.of('partitions')).toMatchObject([{ state: 'ok' }])

  await query(
    `insert into posthorn.dispatcher (host, pid, version, heartbeat_at) values ('elsewhere', 7, '0', now() - interval '5 minutes')`,
  )
  await query(`do $$ declare d integer; begin for d in 4..20 loop
    execute format('drop table if exists posthorn_partitions.event_%s', to_char((now() at time zone 'UTC')::date + d, 'YYYYMMDD')); end loop; end $$`)
  await query(
    `insert into posthorn._prisma_migrations (id, checksum, migration_name, finished_at) values ('n', 'n', '99990101000000_newer', now())`,
  )
  const worn = await look()
  expect(worn.of('dispatchers')).toMatchObject([
    { state: 'fail' },
    { state: 'warn', message: expect.stringMatching(/elsewhere \(7\) for 5 min/) },
  ])
  expect(worn.of('partitions')).toMatchObject([{ state: 'warn', message: 'for no more than 4 days ahead' }])
  expect(worn.of('migrations')).toMatchObject([
    { state: 'warn', message: expect.stringMatching(/99990101000000_newer is not known here/) },
  ])

  await query(`update posthorn._prisma_migrations set checksum = 'other' where migration_name like '%_publish'`)
  const changed = await look()
  expect(changed.of('migrations')).toMatchObject([
    { state: 'fail', message: expect.stringMatching(/_publish was changed after/) },
  ])

  await query(`delete from posthorn._prisma_migrations where migration_name like '%_publish'`)
  const pending = await look()
  expect(pending.of('migrations')).toMatchObject([
    {
      state: 'fail',
      message: expect.stringMatching(/_publish not applied/),
      todo: expect.stringMatching(/posthorn migrate/),
    },
  ])

  await query('drop schema posthorn cascade')
  const empty = await look()
  expect(empty.of('migrations')).toMatchObject([
    { state: 'fail', message: 'Posthorn is not installed in this database' },
  ])
  expect(empty.of('dispatchers')).toEqual([])
})

test('another encryption key than the one that sealed, and one that is none', async () => {
  await cluster.makeEndpoint('sealed', { url: 'http://127.0.0.1:9/' })
  const other = await doctor({ POSTHORN_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64') })
  expect(other.code).toBe(1)
  expect(other.of('encryption key')).toMatchObject([
    { state: 'fail', todo: expect.stringMatching(/POSTHORN_ENCRYPTION_KEY_PREVIOUS/) },
  ])
  const both = await doctor({
    POSTHORN_ENCRYPTION_KEY: Buffer.alloc(32, 8).toString('base64'),
    POSTHORN_ENCRYPTION_KEY_PREVIOUS: encryptionKey,
  })
  expect(both.of('encryption key')).toMatchObject([{ state: 'ok' }])
})

test('an API that is not there, and a key that is wrong', async () => {
  const away = await doctor({ POSTHORN_URL: `http://127.0.0.1:${await freePort()}` })
  expect(away.code).toBe(1)
  // What to do is said once.
  expect(away.of('api')).toMatchObject([
    {
      state: 'fail',
      message: expect.stringMatching(/cannot be reached \(ECONNREFUSED\)$/),
      todo: 'start it (npx -y pnpm@12 start), or say where it is with --url or POSTHORN_URL',
    },
  ])
  const wrong = await doctor({ POSTHORN_API_KEY: 'phk_of-somebody-else' })
  expect(wrong.code).toBe(1)
  expect(wrong.of('api key')).toMatchObject([
    {
      state: 'fail',
      message: expect.stringMatching(/does not know the key from POSTHORN_API_KEY, which .* another Posthorn$/),
      todo: 'set POSTHORN_API_KEY to a key of this one',
    },
  ])
  expect(JSON.stringify(wrong.checks)).not.toContain('of-somebody-else')
  const key = await cluster.call('POST', '/api-keys', { json: { name: 't', kind: 'tenant', tenant_id: 'one' } })
  expect((await doctor({ POSTHORN_API_KEY: key.body.token })).of('api key')).toMatchObject([{ state: 'ok' }])
})

test('work that nobody takes, and lanes that are blocked', async () => {
  const { url, query } = await ownDatabase()
  const endpoint = '01900000-0000-7000-8000-00000000000a'
  await query(`insert into posthorn.tenant (id) values ('acme')`)
  await query(
    `insert into posthorn.endpoint (id, tenant_id, url) values ('${endpoint}', 'acme', 'http://127.0.0.1:9/')`,
  )
  await query(
    `insert into posthorn.lane (endpoint_id, tenant_id, max_in_flight, timeout_ms) values ('${endpoint}', 'acme', 20, 15000)`,
  )
  await query(`select posthorn.publish('acme', 'a.b', '1')`)
  await query(`update posthorn.delivery set due_at = now() - interval '1 hour'`)
  const owed = await doctor({ POSTHORN_DATABASE_URL: url })
  expect(owed.of('oldest work')).toMatchObject([{ state: 'fail', message: 'a delivery has been due for 60 min' }])
  expect(owed.of('lanes')).toMatchObject([{ state: 'ok' }])
  await query(`update posthorn.lane set blocked_until = now() + interval '5 minutes', failures_in_a_row = 12`)
  const blocked = await doctor({ POSTHORN_DATABASE_URL: url })
  expect(blocked.of('lanes')).toMatchObject([
    {
      state: 'warn',
      message: expect.stringMatching(/^1 blocked after failures: acme\/ep_\w+ \(12 failures in a row\)$/),
    },
  ])
  // It waits as it should.
  expect(blocked.of('oldest work')).toMatchObject([{ state: 'ok' }])
})

test('what holds the vacuum horizon back is found: an open transaction', async () => {
  const { url, query } = await ownDatabase()
  await query('begin isolation level repeatable read')
  await query('select 1 from posthorn.tenant')
  const looking = new pg.Client({ connectionString: url })
  await looking.connect()
  // An autovacuum that began before it has the older one, until it ends.
  const { holders, seesAll } = await eventually(async () => {
    const horizon = await readHorizon(looking)
    return horizon.holders[0]?.state === 'idle in transaction' && horizon
  }, 20_000)
  await looking.end()
  await query('rollback')
  expect(seesAll).toBe(true)
  expect(holders).toMatchObject([{ kind: 'session', xids: expect.any(Number), seconds: expect.any(Number) }])
})
