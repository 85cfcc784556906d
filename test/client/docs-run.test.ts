import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSigner } from '@posthorn/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from '../api/api-under-test.ts'
import { type SpawnedProcess, spawnNode } from '../support/processes.ts'

/*
 * The TypeScript of the pages as it stands, each block a program of its own: before it stands what a reader has at hand, behind it
 * what starts a server or ends the program.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

let api: ApiUnderTest
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(root, 'test/client/.docs-run-'))
  api = await startApiUnderTest()
  await api.pool.query('create table invoice (id integer primary key, paid_at timestamptz)')
  await api.pool.query('insert into invoice (id) values (1042)')
})
afterAll(async () => {
  await api?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** The block of a page that has this text. */
async function blockWith(page: string, text: string): Promise<string> {
  const found = [...(await readFile(join(root, page), 'utf8')).matchAll(/^```ts\n([\s\S]*?)^```/gm)]
    .map((match) => match[1]!)
    .filter((block) => block.includes(text))
  expect(found, `${page}: ${text}`).toHaveLength(1)
  return found[0]!
}

let written = 0
async function start(before: string, block: string, behind: string): Promise<SpawnedProcess> {
  written += 1
  const file = join(folder, `block-${written}.ts`)
  await writeFile(file, `${before}\n${block}\n${behind}\n`)
  const env = { URL_OF_API: api.url, KEY: operatorToken, DATABASE_URL: api.database.url, SECRET: secret, OTHER: other }
  return spawnNode(
    file,
    [],
    { ...env, POSTHORN_API_KEY: operatorToken, POSTHORN_WEBHOOK_SECRET: secret },
    { outlivesTest: true },
  )
}

/** @returns what it printed */
async function run(before: string, block: string): Promise<string> {
  const program = await start(before, block, 'process.exit(0)')
  const { code } = await program.exited
  if (code !== 0) throw new Error(`ended with ${code}:\n${block}\n${program.output()}`)
  return program.output()
}

function withApi(block: string): string {
  return block.replace("'http://127.0.0.1:8080'", 'process.env.URL_OF_API!').replace("'phk_...'", 'process.env.KEY!')
}

const posthorn = `import { Posthorn } from '@posthorn/client'
const posthorn = new Posthorn({ url: process.env.URL_OF_API!, apiKey: process.env.KEY! })`

test('the pages on the client: each block does what it says', async () => {
  await run('', withApi(await blockWith('docs/client.md', "import { Posthorn } from '@posthorn/client'")))
  await run(posthorn, await blockWith('docs/client.md', "channels: ['eu']"))
  const listed = await run(posthorn, await blockWith('docs/client.md', 'for await (const page'))
  expect(listed).toBe('1')
  const refused = await run(posthorn, await blockWith('docs/client.md', 'PosthornError'))
  expect(refused).toBe('Please give an https address.')
  const another = (await blockWith('packages/client/README.md', 'posthorn.endpoints.create')).replaceAll(
    'acme',
    'another',
  )
  await run('', withApi(another))
  for (const [tenant, deliveries] of [
    ['acme', 0],
    ['another', 1],
  ] as const) {
    const { body } = await api.call('GET', `/v1/tenants/${tenant}/events`)
    expect(body.data).toMatchObject([{ type: 'invoice.paid', deliveries }])
  }
})

test('the page on event types: a document is imported, and one that would be refused stops the program', async () => {
  const block = withApi(await blockWith('docs/event-types.md', 'posthorn.catalogue.import'))
  const webhooks = (schema: object) => ({
    openapi: '3.1.0',
    webhooks: { 'invoice.void': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
  })
  const file = join(folder, 'webhooks.json')
  const inFolder = block.replace("'webhooks.json'", JSON.stringify(file))
  await writeFile(file, JSON.stringify(webhooks({ type: 'object' })))
  await run('', inFolder)
  const { body } = await api.call('GET', '/v1/event-types')
  expect(body.data).toMatchObject([{ name: 'invoice.void', schema: { type: 'object' } }])
  await writeFile(file, JSON.stringify(webhooks({ type: 'objct' })))
  await expect(run('', inFolder)).rejects.toThrow(/"outcome":"refused"/)
})

const pgImport = `import pg from 'pg'`
const publish = `import { publish } from '@posthorn/client'\nconst id = 1042`
const libraries: [name: string, text: string, before: string][] = [
  [
    'pg',
    '// pg:',
    `${pgImport}\nconst id = 1042\nconst client = new pg.Client(process.env.DATABASE_URL)\nawait client.connect()`,
  ],
  [
    'Drizzle',
    '// Drizzle',
    `${publish}
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, timestamp } from 'drizzle-orm/pg-core'
const invoice = pgTable('invoice', { id: integer().primaryKey(), paidAt: timestamp('paid_at') })
const db = drizzle(process.env.DATABASE_URL!)`,
  ],
  [
    'Kysely',
    '// Kysely',
    `${publish}
import { Kysely, PostgresDialect } from 'kysely'
${pgImport}
const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.DATABASE_URL }) }) })`,
  ],
  [
    'postgres.js',
    '// postgres.js',
    `${publish}\nimport postgres from 'postgres'\nconst sql = postgres(process.env.DATABASE_URL!)`,
  ],
  [
    'TypeORM',
    '// TypeORM',
    `${publish}
import { DataSource, EntitySchema } from 'typeorm'
const columns = { id: { type: Number, primary: true }, paidAt: { type: 'timestamptz', name: 'paid_at' } }
const Invoice = new EntitySchema({ name: 'Invoice', tableName: 'invoice', columns })
const dataSource = await new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Invoice] }).initialize()`,
  ],
]

test.for(libraries)(
  'publishing in a transaction of %s: the invoice is paid and the event is there',
  async ([, text, before]) => {
    await api.pool.query('update invoice set paid_at = null')
    const count = async (): Promise<number> =>
      (
        await api.pool.query<{ n: number }>(
          `select count(*)::int as n from posthorn.event where payload = '{"id":1042}'`,
        )
      ).rows[0]!.n
    const had = await count()
    await run(before, await blockWith('docs/publishing.md', text))
    expect(await count()).toBe(had + 1)
    expect((await api.pool.query('select 1 from invoice where paid_at is not null')).rowCount).toBe(1)
  },
)

const secrets = 'const secrets = [process.env.OTHER!, process.env.SECRET!]'
const serveIt = (fetch: string): [string, string] => [
  `import { serve } from '@hono/node-server'\n${secrets}`,
  `serve({ fetch: ${fetch}, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('listening on', port))`,
]
const listenExpress = `const listening = app.listen(0, '127.0.0.1', () => console.log('listening on', (listening.address() as { port: number }).port))`
const expressApp = `import express from 'express'\nconst app = express()`
const receivers: [name: string, page: string, text: string, before: string, behind: string, edit?: [string, string]][] =
  [
    ['Express', 'docs/receiving.md', 'const app = express()', secrets, listenExpress],
    ['Hono', 'docs/receiving.md', 'new Hono<WebhookEnv>()', ...serveIt('app.fetch')],
    [
      'Fastify',
      'docs/receiving.md',
      'const app = fastify()',
      secrets,
      `console.log('listening on', new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)`,
    ],
    ['Next.js', 'docs/receiving.md', 'export const POST', ...serveIt('POST')],
    [
      'Request',
      'docs/receiving.md',
      'export default { fetch',
      ...serveIt('worker.fetch'),
      ['export default', 'const worker ='],
    ],
    [
      'the README’s line',
      'README.md',
      "app.post('/webhooks', webhook(secret)",
      `import { webhook } from '@posthorn/client/express'\n${expressApp}\nconst secret = process.env.SECRET!`,
      listenExpress,
    ],
    ['the client’s README', 'packages/client/README.md', "app.post('/webhooks'", expressApp, listenExpress],
  ]

test.for(receivers)(
  'receiving with %s: a webhook is taken, and a tampered one refused',
  async ([, page, text, before, behind, edit]) => {
    const block = await blockWith(page, text)
    const server = await start(before, edit ? block.replace(...edit) : block, behind)
    const [, port] = /on (\d+)$/.exec(await server.waitForLine(/^listening on \d+$/, 30_000)) ?? []
    const body = '{"total": 99.50}'
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = {
      'content-type': 'application/json',
      'posthorn-event-type': 'invoice.paid',
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': createSigner([secret]).sign('evt_1', seconds, Buffer.from(body)),
    }
    const post = async (sent: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: sent })).status
    expect(await post(body)).toBeLessThan(300)
    expect(await post('{"total": 9.50}')).toBe(401)
    server.signal('SIGKILL')
  },
)

test('verifying by hand: what is good is read, and what is not is named', async () => {
  const block = await blockWith('docs/receiving.md', 'import { verify, WebhookError }')
  const seconds = Math.floor(Date.now() / 1_000)
  const signature = createSigner([secret]).sign('evt_1', seconds, Buffer.from('{"total":1}'))
  const before = (rawBody: string): string => `${secrets}
const rawBody = '${rawBody}'
const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': '${seconds}', 'webhook-signature': '${signature}' }
const request = new Request('http://127.0.0.1/', { method: 'POST', headers, body: rawBody })`
  expect(await run(before('{"total":1}'), block)).toBe('evt_1 { total: 1 }')
  expect(await run(before('{"total":2}'), block)).toMatch(/^no_match No signature fits/)
})
