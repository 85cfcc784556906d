import { createPool } from '@posthorn/core/db'
import { agreeOnMaxPayload } from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let pool: ReturnType<typeof createPool>

beforeAll(async () => {
  database = await createTestDatabase()
  pool = createPool({ connectionString: database.url, max: 2, applicationName: 'test', onError: () => undefined })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

const publish = (bytes: number) =>
  pool.query(`select posthorn.publish('acme', 'a', $1)`, [`"${'x'.repeat(bytes - 2)}"`])

test('the limit that an API was started with holds for publishing in SQL, and for APIs that name none', async () => {
  expect(await agreeOnMaxPayload(pool, null)).toBe(1_048_576)
  expect(await agreeOnMaxPayload(pool, 2_000)).toBe(2_000)
  await publish(2_000)
  await expect(publish(2_001)).rejects.toMatchObject({ code: 'PH004', message: expect.stringContaining('2000 bytes') })
  expect(await agreeOnMaxPayload(pool, null)).toBe(2_000)
  expect(await agreeOnMaxPayload(pool, 1_048_576)).toBe(1_048_576)
  await publish(1_048_576)
})

test('a batch is bounded as a whole, before any of it is looked at', async () => {
  const payload = `"${'x'.repeat(1_000_000)}"`
  const batch = (count: number) =>
    pool.query(
      `select posthorn.publish_batch('acme', array_fill('a'::text, array[$1::int]), array_fill($2::text, array[$1::int]))`,
      [count, payload],
    )
  await batch(16)
  await expect(batch(17)).rejects.toMatchObject({ code: 'PH004', message: expect.stringContaining('16777216 bytes') })
})

test('a payload with thousands of brackets costs a publish no more than a fraction of a second', async () => {
  const payload = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, text: '[{\\"' })))
  const startedAt = performance.now()
  await pool.query(`select posthorn.publish('acme', 'a', $1)`, [payload])
  // Walked character by character it took seconds.
  expect(performance.now() - startedAt).toBeLessThan(1_500)
  const deep = `${'['.repeat(501)}"]"${']'.repeat(501)}`
  await expect(pool.query(`select posthorn.publish('acme', 'a', $1)`, [deep])).rejects.toMatchObject({ code: 'PH003' })
  const wide = `[${Array.from({ length: 600 }, () => '[["\\"[["]]').join(',')}]`
  await pool.query(`select posthorn.publish('acme', 'a', $1)`, [wide])
})
