import { fileURLToPath } from 'node:url'
import { PosthornError, publish, publishBatch, type Transaction } from '@posthorn/client'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { spawnNode } from '../support/processes.ts'
import { type Connected, libraries } from './libraries.ts'

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  client = new pg.Client(database.url)
  await client.connect()
  await client.query('create table invoice (id text primary key)')
})
afterAll(async () => {
  await client?.end()
  await database?.drop()
})

async function stored(tenant: string) {
  const { rows } = await client.query<{
    type: string
    payload: string
    channels: string[] | null
    deliver_at: Date | null
  }>(
    `select posthorn.type_id('evt', e.id) as id, e.type, convert_from(e.payload, 'UTF8') as payload,
       e.channels, e.deliver_at
     from posthorn.event e where e.tenant_id = $1 order by e.id`,
    [tenant],
  )
  return rows
}

const invoices = async (id: string) => (await client.query('select from invoice where id = $1', [id])).rowCount

// All that a driver, a template or a literal might trip over.
const hard = String.raw`{"a":"it's \"q\" \\ \u0000 \ud800 é 😊 日本語","b":1e400,"c":[1.00, -0.0],"d":"$1::text $$ %s ? :x; drop table invoice --"}`

describe.each(Object.entries(libraries))('%s', (name, connect) => {
  let connected: Connected
  beforeAll(async () => {
    connected = await connect(database.url)
  })
  afterAll(() => connected?.close())

  test('committed with the change that caused it, it is owed; the payload is stored byte for byte', async () => {
    const at = new Date(Date.now() + 3_600_000)
    const ids = await connected.transact(async (tx, statement) => {
      await statement(`insert into invoice values ('${name} kept')`)
      return [
        await publish(tx, name.replaceAll(' ', '-'), { type: 'invoice.paid', payload_json: hard }),
        await publish(tx, name.replaceAll(' ', '-'), {
          type: 'invoice.sent',
          payload: { "it's": [null, true, '\\'] },
          channels: ['eu', 'project-7'],
          deliver_at: at,
        }),
        ...(await publishBatch(tx, name.replaceAll(' ', '-'), [
          { type: 'a', payload_json: hard },
          { type: 'b', payload: null, channels: ['x'], deliver_at: at.toISOString() },
        ])),
      ]
    })
    expect(await stored(name.replaceAll(' ', '-'))).toEqual([
      { id: ids[0], type: 'invoice.paid', payload: hard, channels: null, deliver_at: null },
      {
        id: ids[1],
        type: 'invoice.sent',
        payload: String.raw`{"it's":[null,true,"\\"]}`,
        channels: ['eu', 'project-7'],
        deliver_at: at,
      },
      { id: ids[2], type: 'a', payload: hard, channels: null, deliver_at: null },
      { id: ids[3], type: 'b', payload: 'null', channels: ['x'], deliver_at: at },
    ])
    expect(await invoices(`${name} kept`)).toBe(1)
  })

  test('rolled back, it never happened', async () => {
    const tenant = `back-${name.replaceAll(' ', '-')}`
    await expect(
      connected.transact(async (tx, statement) => {
        await statement(`insert into invoice values ('${name} back')`)
        await publish(tx, tenant, { type: 'invoice.paid', payload: 1 }, { idempotencyKey: 'inv-1' })
        throw new Error('the card was refused')
      }),
    ).rejects.toThrow('the card was refused')
    expect(await stored(tenant)).toEqual([])
    expect(await invoices(`${name} back`)).toBe(0)
    // And the key is free.
    const again = () =>
      connected.transact((tx) => publish(tx, tenant, { type: 'invoice.paid', payload: 2 }, { idempotencyKey: 'inv-1' }))
    const id = await again()
    expect(await again()).toBe(id)
    expect(await stored(tenant)).toHaveLength(1)
  })

  test('what SQL refuses comes with a code, the place, and the words of SQL', async () => {
    const refused = async (work: (tx: Transaction) => Promise<unknown>) => {
      const error = await connected.transact(work).then(
        () => null,
        (reason: unknown) => reason as PosthornError,
      )
      expect(error).toBeInstanceOf(PosthornError)
      return { code: error!.code, path: error!.path, message: error!.message }
    }
    expect(await refused((tx) => publish(tx, 'acme', { type: 'no spaces', payload: 1 }))).toEqual({
      code: 'invalid_request',
      path: '/type',
      message: 'publish: type must be names of A-Z a-z 0-9 _ - joined by full stops, at most 128 long',
    })
    expect(await refused((tx) => publish(tx, 'acme', { type: 'a', payload_json: '{' }))).toMatchObject({
      code: 'invalid_json',
      path: '/payload',
    })
    expect(await refused((tx) => publishBatch(tx, 'acme', []))).toMatchObject({
      code: 'invalid_request',
      path: '/events',
    })
    const other = { idempotencyKey: 'used' }
    await connected.transact((tx) => publish(tx, name.replaceAll(' ', '.'), { type: 'a', payload: 1 }, other))
    expect(
      await refused((tx) => publish(tx, name.replaceAll(' ', '.'), { type: 'a', payload: 2 }, other)),
    ).toMatchObject({ code: 'idempotency_key_reused', path: '/idempotencyKey' })
  })

  test('what is no transaction is refused before anything is sent', async () => {
    for (const [what, outside] of Object.entries(connected.outside)) {
      const error = await publish(outside as Transaction, 'outside', { type: 'a', payload: 1 }).catch((e: unknown) => e)
      expect(error, what).toMatchObject({ code: 'not_a_transaction', message: expect.stringMatching(/give it|start/) })
    }
    expect(await stored('outside')).toEqual([])
  })
})

test('a killed process leaves what it committed, and nothing of what it had only published', async () => {
  const child = spawnNode(fileURLToPath(new URL('crash-child.ts', import.meta.url)), [database.url], {})
  await child.waitForLine(/all open/, 30_000)
  child.signal('SIGKILL')
  await child.exited
  const events = await stored('crash')
  expect(events.map(({ type }) => type)).toEqual(Object.keys(libraries).map(() => 'committed'))
  expect(events.map(({ payload }) => JSON.parse(payload) as string)).toEqual(Object.keys(libraries))
})

test('an error that is none of ours is the one that the library threw', async () => {
  await client.query('begin')
  await expect(client.query('select 1/0')).rejects.toMatchObject({ code: '22012' })
  const error = await publish(client, 'acme', { type: 'a', payload: 1 }).catch((reason: unknown) => reason)
  await client.query('rollback')
  expect(error).not.toBeInstanceOf(PosthornError)
  expect(error).toMatchObject({ code: '25P02' })
})

test('where there is no Posthorn, or no right to publish, the error says what to do', async () => {
  await client.query('begin')
  await client.query('alter schema posthorn rename to elsewhere')
  await expect(publish(client, 'acme', { type: 'a', payload: 1 })).rejects.toMatchObject({
    code: 'not_installed',
    message: expect.stringContaining('migrate'),
  })
  await client.query('rollback')
  const role = `nobody_${process.pid}`
  await client.query(`create role ${role}`)
  await client.query('begin')
  await client.query(`set local role ${role}`)
  await expect(publish(client, 'acme', { type: 'a', payload: 1 })).rejects.toMatchObject({
    code: 'not_granted',
    message: expect.stringContaining('grant posthorn_publisher to'),
  })
  await client.query('rollback')
  await client.query(`drop role ${role}`)
})

test.each([
  ['nothing', null],
  ['an object without a method', {}],
  ['a text', 'tx'],
])('%s is no transaction', async (_, tx) => {
  await expect(publish(tx as never, 'acme', { type: 'a', payload: 1 })).rejects.toMatchObject({
    code: 'not_a_transaction',
  })
})

test.each<[string, object, string]>([
  ['no payload', {}, '/payload'],
  ['a payload that JSON cannot hold', { payload: 1n }, '/payload'],
  ['half a surrogate pair as text', { payload_json: '"\ud800"' }, '/payload_json'],
  ['NUL itself as text', { payload_json: '"\0"' }, '/payload_json'],
  ['a date that is none', { payload: 1, deliver_at: new Date(Number.NaN) }, '/deliver_at'],
])('%s is refused before a statement is sent, and the transaction goes on', async (_, event, path) => {
  await client.query('begin')
  await expect(publish(client, 'acme', { type: 'a', ...event } as never)).rejects.toMatchObject({
    code: 'invalid_argument',
    path,
  })
  await client.query('select 1')
  await client.query('rollback')
})
