import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
afterEach(() => api.stop())

const unknown = () => `phk_${randomBytes(32).toString('base64url')}`

function expectTold(answers: readonly Answer[]): void {
  for (const { status, headers, body } of answers) {
    if (status !== 429) continue
    expect(body.code).toBe('too_many_requests')
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
}

const count = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length

/** Look-ups of keys that the database has made. */
async function lookUps(): Promise<number> {
  const { rows } = await api.pool.query(
    `select (pg_stat_get_numscans(indexrelid))::integer as n from pg_index where indexrelid = 'posthorn.api_key_token_hash_key'::regclass`,
  )
  return rows[0].n
}

async function settledLookUps(): Promise<number> {
  await api.pool.query('select pg_stat_force_next_flush()')
  return lookUps()
}

test('a flood of unknown tokens is bounded before it reaches the database, and good keys still work', async () => {
  api = await startApiUnderTest()
  const token = await api.makeToken('tenant', 'acme')
  expect((await api.call('GET', '/v1/tenants/acme/endpoints', { token })).status).toBe(200)

  const flood: Promise<Answer>[] = []
  for (let i = 0; i < 1_500; i++) flood.push(api.call('GET', '/v1/tenants', { token: unknown() }))
  const answers = await Promise.all(flood)
  expect(count(answers, 401) + count(answers, 429)).toBe(answers.length)
  expect(count(answers, 401)).toBeGreaterThanOrEqual(200)
  expect(count(answers, 429)).toBeGreaterThan(500)
  expectTold(answers)

  // One that is known, and the operator's, are not held up by it; past a second it is looked up again.
  for (let i = 0; i < 3; i++) {
    expect((await api.call('GET', '/v1/tenants/acme/endpoints', { token })).status).toBe(200)
    expect((await api.call('GET', '/v1/tenants')).status).toBe(200)
    await api.pool.query('select pg_sleep(0.6)')
  }
})

test('what no key can look like is refused without a look-up', async () => {
  api = await startApiUnderTest()
  const before = await settledLookUps()
  for (const token of [
    'x',
    'phk_',
    `phk_${'x'.repeat(42)}`,
    `phk_${'x'.repeat(44)}`,
    `phk_${'!'.repeat(43)}`,
    'x'.repeat(512),
  ]) {
    expect((await api.call('GET', '/v1/tenants', { token })).status).toBe(401)
  }
  // The API's own connections tell what they did a second late at most.
  await api.pool.query('select pg_sleep(1.1)')
  await api.call('GET', '/v1/tenants')
  expect(await settledLookUps()).toBe(before)
})

test('keys that are good are not counted as failures, however many come at once', async () => {
  api = await startApiUnderTest()
  const tokens = await Promise.all(Array.from({ length: 60 }, (_, i) => api.makeToken('tenant', `t${i}`)))
  for (let round = 0; round < 6; round++) {
    const answers = await Promise.all(
      tokens.map((token, i) => api.call('GET', `/v1/tenants/t${i}/endpoints`, { token })),
    )
    expect(count(answers, 200)).toBe(60)
    // Forgotten, they are unknown again.
    await api.call('DELETE', '/v1/api-keys/key_00000000000000000000000000')
  }
})

test('a key that asks too often is told when to come again; other keys are not held up', async () => {
  api = await startApiUnderTest({ env: { POSTHORN_REQUESTS_PER_SECOND: '20' } })
  const [busy, quiet] = [await api.makeToken('tenant', 'acme'), await api.makeToken('tenant', 'acme')]
  const ask = (token: string) => api.call('GET', '/v1/tenants/acme/endpoints', { token })
  const began = performance.now()
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(busy)))
  const seconds = (performance.now() - began) / 1_000
  expect(count(answers, 200)).toBeGreaterThanOrEqual(20)
  expect(count(answers, 200)).toBeLessThanOrEqual(20 + Math.ceil(seconds * 20))
  expect(count(answers, 200) + count(answers, 429)).toBe(100)
  expectTold(answers)
  expect((await ask(quiet)).status).toBe(200)
  const refused = answers.find((answer) => answer.status === 429)!
  await new Promise((resolve) => setTimeout(resolve, Number(refused.headers.get('retry-after')) * 1_000))
  expect((await ask(busy)).status).toBe(200)
})

test('0 is no limit', async () => {
  api = await startApiUnderTest({ env: { POSTHORN_REQUESTS_PER_SECOND: '0' } })
  const answers = await Promise.all(Array.from({ length: 300 }, () => api.call('GET', '/v1/tenants')))
  expect(count(answers, 200)).toBe(300)
})
