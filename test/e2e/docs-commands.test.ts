import { spawnSync } from 'node:child_process'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { spawnCommand } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { admin } from '../support/template.ts'
import { eventually } from '../support/wait.ts'
import { type Block, blocksOf, openShell, pages } from './docs-under-test.ts'
import { delivered, startIn, test } from './start-under-test.ts'

/** Where the commands of a page, or of one heading of it, are run. TypeScript is compiled by test/client/docs.test.ts, and run by
 * test/client/docs-run.test.ts, but for Prisma's, which examples/prisma has. */
const runners: Record<
  string,
  'beside a start' | 'the command line' | 'on a database' | 'the image' | 'a test of its own'
> = {
  'README.md#The first webhook': 'beside a start',
  'README.md#Publish from your own transaction': 'on a database',
  'README.md#Run it on your Postgres': 'on a database',
  'README.md#Run it in containers': 'the image',
  'docs/README.md': 'beside a start',
  'docs/cli.md': 'the command line',
  'docs/event-types.md': 'a test of its own',
  'docs/filters.md': 'beside a start',
  'docs/operating.md': 'beside a start',
  'docs/ordering.md': 'beside a start',
  'docs/publishing.md': 'on a database',
  'docs/recovery.md': 'beside a start',
  'docs/sql.md': 'on a database',
}
const compiled = [
  'README.md',
  'docs/publishing.md',
  'docs/receiving.md',
  'docs/client.md',
  'docs/event-types.md',
  'packages/client/README.md',
]

/** Pages whose JSON a test of their own takes. */
const sampled = ['docs/event-types.md', 'docs/filters.md']

function isTested(block: Block): boolean {
  if (block.language === 'ts') return compiled.includes(block.page)
  if (block.language === 'json') return sampled.includes(block.page)
  return runnerOf(block) !== undefined
}

function runnerOf({ page, heading }: Block): string | undefined {
  return runners[page] ?? runners[`${page}#${heading}`]
}

const psql = spawnSync('psql', ['--version']).status === 0
if (!psql)
  console.warn(
    'SKIPPED: the psql command of docs/sql.md is not run, for there is no psql here (apt: postgresql-client)',
  )

test('every block of every page is run, or compiled, by some test', () => {
  const astray = pages()
    .flatMap(blocksOf)
    .filter((block) => !isTested(block))
  expect(astray).toEqual([])
})

test('the commands of the README and the pages, pasted as they stand beside a start', async ({ folder }) => {
  const start = await startIn(folder.path, { POSTHORN_ALLOWED_TARGETS: '127.0.0.1/32' })
  const receiver = await startReceiver()
  const shell = openShell(folder.path, start, { 'https://example.com/hooks': `${receiver.url}/hooks` })
  const blocks = (page: string): string[] =>
    blocksOf(page)
      .filter(
        (block) =>
          block.language === 'sh' && runnerOf(block) === 'beside a start' && !/pnpm@12 start$/m.test(block.text),
      )
      .map(({ text }) => text)

  const [first] = blocks('README.md')
  const [, event] = (await shell.run(first!)).split('\n').map((line) => JSON.parse(line))
  await start.process.waitForLine(new RegExp(`^✓ invoice\\.paid ${event.id} verified \\(v1\\), 15 bytes`, 'u'), 20_000)
  expect(await delivered(start, event.id)).toMatchObject({ attempts: 1 })

  // One tour after the other: the endpoint is there already, and is called the same.
  const [tour, ...others] = blocks('docs/README.md')
  expect(others).toEqual([])
  const [add, ...goesOn] = tour!.split('\n')
  await expect(shell.run(add!)).rejects.toThrow(/409 uid_taken/)
  await shell.run(goesOn.join('\n'))
  await shell.run(`npx posthorn attempts acme ${event.id}/main`)
  for (const block of blocks('docs/operating.md')) await shell.run(block)

  // From here on with what the README has exported.
  const exported = `${first!.split('\n', 1)[0]}\n`
  for (const block of blocks('docs/filters.md')) await shell.run(exported + block)
  for (const block of blocks('docs/ordering.md')) await shell.run(exported + block)
  const ordered = await receiver.waitFor(
    ({ path, headers }) => path === '/hooks' && headers['posthorn-event-type'] === 'order.paid',
    20_000,
  )
  expect(ordered.body.toString()).toBe('{"id":1042}')

  const [names, recovery, seen, ...more] = blocks('docs/recovery.md')
  expect(more).toEqual([])
  const [counted, recovered] = recovery!.split('\n').filter((line) => !line.startsWith('#'))
  const named = exported + names
  expect(JSON.parse(await shell.run(named + counted))).toMatchObject({
    total: expect.any(Number),
    missed: expect.any(Number),
  })
  const job = JSON.parse(await shell.run(named + recovered))
  expect(job).toMatchObject({ status: 'running', done: 0 })
  await eventually(async () => JSON.parse(await shell.run(`${named}JOB=${job.id}\n${seen}`)).status === 'done', 20_000)

  if (psql) {
    const [inSql] = blocksOf('docs/sql.md').filter(({ language }) => language === 'sh')
    const [id] = /evt_\w+/.exec(await shell.run(inSql!.text)) ?? []
    await start.process.waitForLine(new RegExp(`^✓ invoice\\.paid ${id} verified`, 'u'), 20_000)
  }
  await receiver.close()
  expect(await start.stop()).toBe(0)
})

test('the commands that run it on a database of one’s own', async ({ folder }) => {
  const name = `posthorn_test_docs_${process.pid}`
  await admin(inject('adminUrl'), `create database ${name} template template0 encoding 'UTF8'`)
  try {
    const url = new URL(inject('adminUrl'))
    url.pathname = `/${name}`
    const [block, ...more] = blocksOf('README.md').filter(({ heading }) => heading === 'Run it on your Postgres')
    expect(more).toEqual([])
    const lines = block!.text.trim().split('\n')
    const exports = lines
      .filter((line) => line.startsWith('export '))
      .map((line) =>
        line
          .replace('postgres://...', url.href)
          .replace(/=\.\.\. +# echo (.*)$/, '=$1')
          .replace(/=\.\.\. +# (.*)$/, '=$($1)'),
      )
      .join('\n')
    const roles = lines.filter((line) => line.startsWith('npx ')).map((line) => /^npx -y pnpm@12 (\w+)/.exec(line)?.[1])
    expect(roles).toEqual(['migrate', 'api', 'dispatcher'])
    // Nothing of the machine's own settings.
    const shell = spawnSync('bash', ['--norc', '-euc', `${exports}\nenv -0`], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    const settings = shell.stdout.split('\0')
    const env = Object.fromEntries(
      settings.filter((each) => each.startsWith('POSTHORN_')).map((each) => each.split(/=(.*)/s).slice(0, 2)),
    )
    const main = new URL('../../apps/posthorn/src/main.ts', import.meta.url).pathname
    const run = (role: string) =>
      spawnCommand(
        process.execPath,
        [main, role],
        { ...env, POSTHORN_PORT: '0' },
        { cwd: folder.path, outlivesTest: true },
      )
    const migrate = run('migrate')
    expect((await migrate.exited).code).toBe(0)
    expect(migrate.output()).toMatch(/^applied \d{14}_init\n/)
    const [api, dispatcher] = [run('api'), run('dispatcher')]
    await api.waitForLine(/"msg":"api listening"/, 30_000)
    await dispatcher.waitForLine(/"msg":"dispatcher ready"/, 30_000)
    for (const each of [api, dispatcher]) {
      each.signal('SIGTERM')
      expect((await each.exited).code).toBe(0)
    }
  } finally {
    await admin(inject('adminUrl'), `drop database ${name} with (force)`)
  }
})

test('the SQL of the README and the pages, as it stands', async () => {
  const database = await createTestDatabase()
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  const user = `my_app_${process.pid}`
  try {
    await client.query(`create role ${user}`)
    await client.query('create table invoice (id integer primary key, paid_at timestamptz)')
    await client.query('insert into invoice (id) values (1042)')
    const sql = ['README.md', 'docs/publishing.md', 'docs/sql.md']
      .flatMap(blocksOf)
      .filter(({ language }) => language === 'sql')
    const [inTransaction, grant, make, signatures, again] = sql.map(({ text }) => text.replaceAll('my_app', user))
    expect(sql).toHaveLength(5)

    await client.query(inTransaction!)
    const { rows } = await client.query(
      `select e.type, convert_from(e.payload, 'UTF8') as payload, i.paid_at is not null as paid from posthorn.event e, invoice i`,
    )
    expect(rows).toEqual([{ type: 'invoice.paid', payload: '{"id":1042,"total":99.50}', paid: true }])

    for (const each of [grant, again]) await client.query(each!)
    await client.query(`set role ${user}`)
    await client.query(`select posthorn.publish('acme', 'invoice.paid', '{}')`)
    await client.query('reset role')

    // A jsonb must be cast, and is sent as the cast has it.
    const body = `'{ "total":99.50,"id":1 }'::jsonb`
    await expect(client.query(`select posthorn.publish('acme', 'x.y', ${body})`)).rejects.toMatchObject({
      code: '42883',
    })
    await client.query(`select posthorn.publish('acme', 'x.y', ${body}::text)`)
    const cast = await client.query(
      `select convert_from(payload, 'UTF8') as payload from posthorn.event where type = 'x.y'`,
    )
    expect(cast.rows).toEqual([{ payload: '{"id": 1, "total": 99.50}' }])

    // The role is there already, as the page says: the second line is for the owner in any case.
    const [createRole, grantPublisher] = make!.trim().split('\n')
    await expect(client.query(createRole!)).rejects.toMatchObject({ code: '42710' })
    await client.query(grantPublisher!)

    const told = [
      ...signatures!.replaceAll(/--.*$/gm, '').matchAll(/posthorn\.(\w+)\(\s*([\s\S]*?)\s*\) returns ([\w[\]]+)/g),
    ]
    const functions = await client.query<{ name: string; arguments: string; result: string }>(
      `select p.proname as name, pg_get_function_arguments(p.oid) as arguments, pg_get_function_result(p.oid) as result
       from pg_proc p where p.pronamespace = 'posthorn'::regnamespace and p.proname in ('publish', 'publish_batch') order by 1`,
    )
    const plain = (text: string): string =>
      text
        .replaceAll(/\s+/g, ' ')
        .replaceAll('timestamptz', 'timestamp with time zone')
        .replaceAll(/null::[\w ]+(\[\])?/gi, 'null')
        .toLowerCase()
    expect(told.map(([, name, args = '', result]) => ({ name, arguments: plain(args), result }))).toEqual(
      functions.rows.map((row) => ({ ...row, arguments: plain(row.arguments) })),
    )
  } finally {
    await client.query('reset role')
    await client.query(`drop owned by ${user}`)
    await client.query(`drop role ${user}`)
    await client.end()
    await database.drop()
  }
})
