import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { type Role, spawnNode, spawnPosthorn } from '../support/processes.ts'
import { admin, databaseUrl } from '../support/template.ts'
import { startTestServer } from '../support/test-server.ts'
import { eventually } from '../support/wait.ts'
import { inFolder, processesOf, refusal, startIn, test } from './start-under-test.ts'

const mainFile = fileURLToPath(new URL('../../apps/posthorn/src/main.ts', import.meta.url))
const encryptionKey = Buffer.alloc(32, 7).toString('base64')

test.for([
  ['POSTHORN_PORT', 'http'],
  ['POSTHORN_RETRY_SCHEDULE', '5'],
  ['POSTHORN_ALLOWED_TARGETS', 'localhost'],
  ['POSTHORN_ENCRYPTION_KEY', 'secret'],
] as const)('a wrong %s is refused in one line that names it', async ([name, value], { folder }) => {
  const said = await refusal(folder, 'start', { [name]: value })
  expect(said).toMatch(new RegExp(`^posthorn: ${name} [^\\n]+$`))
  expect(processesOf(folder.path)).toEqual([])
})

test('an unknown setting is a warning', async ({ folder }) => {
  const start = await startIn(folder.path, { POSTHORN_PROT: '1' })
  expect(start.process.output()).toMatch(/^warning: POSTHORN_PROT is not a setting of Posthorn/m)
})

test('a taken port is refused in one line, and nothing is left running', async ({ folder }) => {
  const squatter = createServer()
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve))
  const { port } = squatter.address() as { port: number }
  const said = await refusal(folder, 'start', { POSTHORN_PORT: String(port) })
  expect(said).toMatch(new RegExp(`^posthorn: POSTHORN_PORT: port ${port} of 127\\.0\\.0\\.1 is taken[^\\n]*$`))
  expect(processesOf(folder.path)).toEqual([])
  squatter.close()
})

test('a data folder that lost its encryption key is refused', async ({ folder }) => {
  const start = await startIn(folder.path, { POSTHORN_ENCRYPTION_KEY: encryptionKey })
  await start.stop()
  expect(await refusal(folder, 'start', { POSTHORN_PORT: '0' })).toMatch(
    /^posthorn: POSTHORN_ENCRYPTION_KEY is required: [^\n]+$/,
  )
  await writeFile(join(folder.dataDir, 'encryption-key'), `${encryptionKey}\n`)
  await (await startIn(folder.path)).stop()
})

test('another encryption key than that of the database is refused', async ({ folder }) => {
  const start = await startIn(folder.path)
  await start.register({ url: `http://127.0.0.1:${start.samplePort}/` })
  await start.stop()
  const said = await refusal(folder, 'start', { POSTHORN_PORT: '0', POSTHORN_ENCRYPTION_KEY: encryptionKey })
  expect(said).toMatch(/^posthorn: POSTHORN_ENCRYPTION_KEY is not the key [^\n]+$/)
  expect(processesOf(folder.path)).toEqual([])
})

test('roles that need a database say so', async ({ folder }) => {
  for (const role of ['api', 'dispatcher', 'migrate'] as const) {
    expect(await refusal(folder, role, {})).toMatch(/^posthorn: POSTHORN_DATABASE_URL is required [^\n]+$/)
  }
})

test('a database that does not exist is told at once, without the password', async ({ folder }) => {
  const url = new URL(databaseUrl(inject('adminUrl'), 'posthorn_nowhere'))
  const said = await refusal(folder, 'dispatcher', {
    POSTHORN_DATABASE_URL: url.href,
    POSTHORN_ENCRYPTION_KEY: encryptionKey,
  })
  expect(said).toMatch(/^posthorn: POSTHORN_DATABASE_URL: [^\n]+ "posthorn_nowhere" does not exist$/)
  if (url.password) expect(said).not.toContain(url.password)
})

test('two migrations at once take turns', async ({ folder }) => {
  const name = `posthorn_test_migrate_${randomBytes(5).toString('hex')}`
  await admin(inject('adminUrl'), `create database ${name} template template0 encoding 'UTF8'`)
  try {
    const env = { POSTHORN_DATABASE_URL: databaseUrl(inject('adminUrl'), name) }
    const both = [1, 2].map(() => spawnPosthorn('migrate', env, inFolder(folder.path)))
    for (const each of both) expect(await each.exited).toEqual({ code: 0, signal: null })
    const said = both.map((each) => each.output()).sort()
    expect(said[0]).toMatch(/^applied \d{14}_init\n(applied \w+\n?)+$/)
    expect(said[1]).toBe('nothing to apply: the database is up to date')
  } finally {
    await admin(inject('adminUrl'), `drop database ${name} with (force)`)
  }
})

test('a migration that waits for the lock of another can be stopped', async ({ folder }) => {
  const url = inject('adminUrl')
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  try {
    await other.query('select pg_advisory_lock(72707369)')
    const waiting = spawnPosthorn('migrate', { POSTHORN_DATABASE_URL: url }, inFolder(folder.path))
    await eventually(async () => {
      const { rows } = await other.query("select 1 from pg_locks where locktype = 'advisory' and not granted")
      return rows.length > 0
    }, 10_000)
    waiting.signal('SIGTERM')
    expect(await waiting.exited).toEqual({ code: 1, signal: null })
    expect(waiting.output()).toBe('posthorn: stopped before the database was migrated')
  } finally {
    await other.end()
  }
})

test('api and dispatcher wait for a database that is away, and stop in order', async ({ folder }) => {
  const server = await startTestServer({ migrated: false })
  await server.kill9()
  const env = { POSTHORN_DATABASE_URL: server.url, POSTHORN_ENCRYPTION_KEY: encryptionKey, POSTHORN_PORT: '0' }
  const api = spawnPosthorn('api', env, inFolder(folder.path))
  const dispatcher = spawnPosthorn('dispatcher', env, inFolder(folder.path))
  for (const each of [api, dispatcher]) await each.waitForLine(/the database does not answer yet/, 20_000)
  await server.restart()
  const listening = JSON.parse(await api.waitForLine(/"msg":"api listening"/, 20_000))
  expect(listening).toMatchObject({ level: 'info', host: '127.0.0.1', port: expect.any(Number) })
  await dispatcher.waitForLine(/"msg":"dispatcher ready"/, 20_000)
  expect((await fetch(`http://127.0.0.1:${listening.port}/readyz`)).status).toBe(200)
  for (const each of [api, dispatcher]) {
    each.signal('SIGTERM')
    expect(await each.exited).toEqual({ code: 0, signal: null })
    expect(
      each
        .output()
        .split('\n')
        .filter((line) => /does not answer/.test(line)),
    ).toHaveLength(1)
  }
  await server.stop()
})

test('an unknown command tells how to find the commands', async ({ folder }) => {
  const process = spawnPosthorn('serve' as Role, {}, inFolder(folder.path))
  expect(await process.exited).toEqual({ code: 2, signal: null })
  expect(process.output()).toBe(
    "posthorn: unknown command 'serve'\n" +
      '`posthorn --help` tells the commands, `posthorn <command> --help` how one is used.',
  )
})

test('with --json the start tells where it is in one document, and then a line for each webhook', async ({
  folder,
}) => {
  const start = spawnNode(mainFile, ['start', '--json'], { POSTHORN_PORT: '0' }, inFolder(folder.path))
  const told = JSON.parse(await start.waitForLine(/^\{/, 60_000))
  expect(told).toMatchObject({
    version: expect.any(String),
    data_dir: folder.dataDir,
    token_path: join(folder.dataDir, 'api-key'),
  })
  const headers = { authorization: `Bearer ${told.new_token}`, 'content-type': 'application/json' }
  const post = (path: string, body: unknown) =>
    fetch(`${told.api_url}/v1/tenants/acme/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect((await post('endpoints', { url: `${told.sample_receiver_url}/` })).status).toBe(201)
  expect((await post('events', { type: 'a.b', payload: 1 })).status).toBe(202)
  await start.waitForLine(/^\{"line":"✓ a\.b evt_\w+ verified/u, 20_000)
  start.signal('SIGTERM')
  expect((await start.exited).code).toBe(0)
  for (const line of start.output().split('\n')) JSON.parse(line)
})
