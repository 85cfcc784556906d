import { chmod, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../../apps/posthorn/src/embedded/index.ts'
import { isRunning } from '../../apps/posthorn/src/embedded/process-identity.ts'
import { createDataDir, type DataDir } from '../support/data-dir.ts'
import { type SpawnedProcess, spawnNode } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

const ownerScript = fileURLToPath(new URL('owner.ts', import.meta.url))
const log = { info: () => undefined, warn: () => undefined }

let dataDir: DataDir
beforeEach(async () => {
  dataDir = await createDataDir()
})
afterEach(() => dataDir.remove())

type Owner = { process: SpawnedProcess; url: string; serverPid: number }

async function startOwner(path = dataDir.path): Promise<Owner> {
  const process = spawnNode(ownerScript, [path], {})
  const { url, pid } = JSON.parse(await process.waitForLine(/"message":"(ready|refused)"/, 30_000))
  if (!url) throw new Error(process.output())
  return { process, url, serverPid: pid }
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('a first start makes a UTF-8 database that only its password opens, on 127.0.0.1 alone', async () => {
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  try {
    expect(await query(server.url, 'select current_database() as name, getdatabaseencoding() as encoding')).toEqual([
      { name: 'posthorn', encoding: 'UTF8' },
    ])
    expect(await query(server.url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    const wrong = new URL(server.url)
    wrong.password = 'wrong'
    await expect(query(wrong.href, 'select 1')).rejects.toThrow(/password authentication failed/)
    const place = join(dataDir.path, 'postgres')
    expect((await stat(join(place, 'password'))).mode & 0o777).toBe(0o600)
    expect((await stat(join(place, 'log'))).mode & 0o777).toBe(0o600)
  } finally {
    await server.stop()
  }
  expect(await server.exited).toEqual({ code: 0, signal: null })
  expect(await readdir(dataDir.path)).toEqual(['postgres'])
  await server.stop()
})

test('a second start keeps data, password and port', async () => {
  const first = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  await query(first.url, 'create table kept as select 1 as number')
  await first.stop()
  const second = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  try {
    expect(second.url).toBe(first.url)
    expect(await query(second.url, 'select number from kept')).toEqual([{ number: 1 }])
  } finally {
    await second.stop()
  }
})

test('after kill -9 of its owner, the next start stops the orphan and keeps what was committed', async () => {
  const killed = await startOwner()
  await query(killed.url, 'create table kept as select 1 as number')
  killed.process.signal('SIGKILL')
  await killed.process.exited
  expect(isRunning(killed.serverPid)).toBe(true)
  const next = await startOwner()
  expect(next.process.output()).toContain('left behind')
  expect(isRunning(killed.serverPid)).toBe(false)
  expect(await query(next.url, 'select number from kept')).toEqual([{ number: 1 }])
  next.process.signal('SIGTERM')
  expect(await next.process.exited).toEqual({ code: 0, signal: null })
  expect(isRunning(next.serverPid)).toBe(false)
})

test('a second start while the first lives is refused in one line, and the first goes on', async () => {
  const first = await startOwner()
  const second = spawnNode(ownerScript, [dataDir.path, '200'], {})
  expect((await second.exited).code).toBe(1)
  expect(second.output()).toContain('waiting for another posthorn')
  const refusal = JSON.parse(second.output().split('\n').at(-1) ?? '')
  expect(refusal.name).toBe('EmbeddedPostgresError')
  expect(refusal.reason).toMatch(new RegExp(`^the data folder \\S+ is in use by process ${first.process.pid}: .*$`))
  expect(await query(first.url, 'select 1 as number')).toEqual([{ number: 1 }])
  expect(isRunning(first.serverPid)).toBe(true)
})

test('a second start waits for a first that drains', async () => {
  const first = await startOwner()
  const second = spawnNode(ownerScript, [dataDir.path], {})
  await second.waitForLine(/waiting for another posthorn/, 10_000)
  first.process.signal('SIGTERM')
  await second.waitForLine(/"message":"ready"/, 20_000)
  expect((await first.process.exited).code).toBe(0)
})

test('of several starts at once on a stale lock, one runs', async () => {
  const killed = await startOwner()
  killed.process.signal('SIGKILL')
  await killed.process.exited
  const starts = Array.from({ length: 4 }, () => spawnNode(ownerScript, [dataDir.path, '500'], {}))
  await Promise.all(starts.map((start) => start.waitForLine(/"message":"(ready|refused)"/, 30_000)))
  expect(starts.filter((start) => start.output().includes('"message":"ready"'))).toHaveLength(1)
})

test('a crash of the server is told, its data survives, and stop still frees the folder', async () => {
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  await query(server.url, 'create table kept as select 1 as number')
  process.kill(server.pid, 'SIGKILL')
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' })
  await server.stop()
  const next = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  try {
    expect(await query(next.url, 'select number from kept')).toEqual([{ number: 1 }])
  } finally {
    await next.stop()
  }
})

test('a first start that was cut off leaves nothing that a second trips over', async () => {
  const leftover = join(dataDir.path, 'postgres.making-1', 'data')
  await mkdir(leftover, { recursive: true })
  await writeFile(join(leftover, 'PG_VERSION'), '18\n')
  const cut = spawnNode(ownerScript, [dataDir.path], {})
  await eventually(
    async () => (await readdir(dataDir.path)).some((name) => name === `postgres.making-${cut.pid}`),
    20_000,
  )
  cut.signal('SIGKILL')
  await cut.exited
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  await server.stop()
  expect(await readdir(dataDir.path)).toEqual(['postgres'])
})

test('a taken port, another version and a foreign pid file are told or overcome', async () => {
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  await server.stop()
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(server.port, '127.0.0.1', resolve))
  try {
    await expect(startEmbeddedPostgres({ dataDir: dataDir.path, log, port: server.port })).rejects.toThrow(
      `port ${server.port} of 127.0.0.1 is taken`,
    )
    const elsewhere = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
    expect(elsewhere.port).not.toBe(server.port)
    await elsewhere.stop()
  } finally {
    taken.close()
  }

  const pgdata = join(dataDir.path, 'postgres', 'data')
  // The pid of a process that is no Postgres: ours.
  await writeFile(join(pgdata, 'postmaster.pid'), `${process.pid}\n${pgdata}\n`)
  await (await startEmbeddedPostgres({ dataDir: dataDir.path, log })).stop()

  const version = await readFile(join(pgdata, 'PG_VERSION'), 'utf8')
  await writeFile(join(pgdata, 'PG_VERSION'), '16\n')
  await expect(startEmbeddedPostgres({ dataDir: dataDir.path, log })).rejects.toThrow(/is of Postgres 16, and this is/)
  await writeFile(join(pgdata, 'PG_VERSION'), version)
  await (await startEmbeddedPostgres({ dataDir: dataDir.path, log })).stop()
})

test('a data folder that cannot be one is refused in one line that names it', async () => {
  const file = join(dataDir.path, 'file')
  await writeFile(file, '')
  await expect(startEmbeddedPostgres({ dataDir: file, log })).rejects.toThrow(
    `the data folder ${file} cannot be used: `,
  )
})

test.runIf(process.getuid?.() === 0)(
  'started by root under a folder that only root may pass, it still runs',
  async () => {
    await chmod(dataDir.path, 0o700)
    const inside = { path: join(dataDir.path, 'data') }
    const server = await startEmbeddedPostgres({ dataDir: inside.path, log })
    expect(await query(server.url, 'select 1 as number')).toEqual([{ number: 1 }])
    await server.stop()
    const again = await startEmbeddedPostgres({ dataDir: inside.path, log })
    expect(again.url).toBe(server.url)
    await again.stop()
    await rm(await realpath(join(inside.path, 'postgres')), { recursive: true })
  },
)
