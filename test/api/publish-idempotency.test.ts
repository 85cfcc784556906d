import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/wait.ts'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

function publish(tenant: string, key: string | undefined, json: unknown, batch = false): Promise<Answer> {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  return api.call('POST', `/v1/tenants/${tenant}/events${batch ? '/batch' : ''}`, { json, headers })
}

async function countEvents(tenant: string): Promise<number> {
  const { rows } = await api.pool.query('select count(*)::integer as n from posthorn.event where tenant_id = $1', [
    tenant,
  ])
  return rows[0].n
}

test('50 concurrent publishes with one key make one event, and all get its answer', async () => {
  await api.call('POST', '/v1/tenants/fifty/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
  const event = { type: 'a', payload: { n: 1 }, channels: ['c'] }
  const answers = await Promise.all(Array.from({ length: 50 }, () => publish('fifty', 'k', event)))
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]))
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
  expect(answers[0]!.body).toMatchObject({ deliveries: 1, channels: ['c'] })
  expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')).toHaveLength(49)
  expect(await countEvents('fifty')).toBe(1)
  const { rows } = await api.pool.query(
    `select count(*)::integer as n from posthorn.delivery d join posthorn.event e on e.id = d.event_id where e.tenant_id = 'fifty'`,
  )
  expect(rows[0].n).toBe(1)
})

test('a key used again with other content is a 422, and writes nothing', async () => {
  const first = await publish('other', 'k', { type: 'a', payload: { n: 1 } })
  expect(first.status).toBe(202)
  for (const event of [
    { type: 'b', payload: { n: 1 } },
    { type: 'a', payload: { n: 2 } },
    { type: 'a', payload: { n: 1 }, channels: ['c'] },
    { type: 'a', payload: { n: 1 }, deliver_at: new Date(Date.now() + 60_000).toISOString() },
  ]) {
    expect(await publish('other', 'k', event)).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
  }
  const twice = {
    events: [
      { type: 'a', payload: { n: 1 } },
      { type: 'a', payload: { n: 1 } },
    ],
  }
  expect(await publish('other', 'k', twice, true)).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused' },
  })
  expect(await publish('other', 'k', { type: 'a', payload: { n: 1 } })).toMatchObject({ status: 202, text: first.text })
  expect(await countEvents('other')).toBe(1)
})

test('one key space for single, batch and SQL, and none between tenants', async () => {
  const batch = {
    events: [
      { type: 'a', payload: 1 },
      { type: 'b', payload: [2] },
    ],
  }
  const first = await publish('space', 'k', batch, true)
  const again = await publish('space', 'k', batch, true)
  expect(again).toMatchObject({ status: 202, text: first.text })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(first.headers.has('idempotent-replayed')).toBe(false)
  expect((await publish('elsewhere', 'k', batch, true)).headers.has('idempotent-replayed')).toBe(false)
  const { rows } = await api.pool.query(`select posthorn.publish('space', 'a', '1', 'from-sql') as id`)
  expect(await publish('space', 'from-sql', { type: 'a', payload: 1 })).toMatchObject({
    status: 202,
    body: { id: rows[0].id },
  })
})

test('50 concurrent publishes of different content with one key: the first is kept, the others are told', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => publish('fight', 'k', { type: 'a', payload: { n: n % 5 } })),
  )
  const kept = answers.filter((answer) => answer.status === 202)
  expect(kept).toHaveLength(10)
  expect(new Set(kept.map((answer) => answer.text)).size).toBe(1)
  expect(answers.filter((answer) => answer.status === 422)).toHaveLength(40)
  expect(await countEvents('fight')).toBe(1)
})

test('a key that an open transaction holds is a 409 in a while, and delays no other', async () => {
  const product = await api.pool.connect()
  try {
    await product.query('begin')
    await product.query(`select posthorn.publish('held', 'a', '1', 'held')`)
    const begun = performance.now()
    const held = [1, 2, 3].map(() => publish('held', 'held', { type: 'a', payload: 1 }))
    const others = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const answer = await publish('held', n % 2 ? `free-${n}` : undefined, { type: 'a', payload: n })
        return { status: answer.status, ms: performance.now() - begun }
      }),
    )
    expect(others.every(({ status }) => status === 202)).toBe(true)
    expect(Math.max(...others.map(({ ms }) => ms))).toBeLessThan(1_000)
    for (const answer of await Promise.all(held)) {
      expect(answer).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } })
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    }
    expect(performance.now() - begun).toBeGreaterThan(1_500)
  } finally {
    await product.query('commit')
    product.release()
  }
  const after = await publish('held', 'held', { type: 'a', payload: 1 })
  expect(after.status).toBe(202)
  expect(after.headers.get('idempotent-replayed')).toBe('true')
})

test('a key whose holder rolls back within a moment is published', async () => {
  const product = await api.pool.connect()
  await product.query('begin')
  await product.query(`select posthorn.publish('undone', 'a', '1', 'k')`)
  const publishing = publish('undone', 'k', { type: 'a', payload: 1 })
  await eventually(async () => (await api.pool.query('select from pg_locks where not granted')).rowCount, 5_000)
  await product.query('rollback')
  product.release()
  const answer = await publishing
  expect(answer.status).toBe(202)
  expect(answer.headers.has('idempotent-replayed')).toBe(false)
})

test.each(['', 'a\tb', 'é', 'x'.repeat(256)])('the key %j is refused', async (key) => {
  expect(await publish('acme', key, { type: 'a', payload: 1 })).toMatchObject({
    status: 422,
    body: { errors: [{ path: '/idempotency-key' }] },
  })
})

test('every printable ASCII character may stand in a key', async () => {
  const key = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))
    .join('')
    .trim()
  const first = await publish('ascii', key, { type: 'a', payload: 1 })
  expect(first.status).toBe(202)
  expect((await publish('ascii', key, { type: 'a', payload: 1 })).headers.get('idempotent-replayed')).toBe('true')
})
