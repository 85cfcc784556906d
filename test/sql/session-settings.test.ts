import { createPool } from '@posthorn/core/db'
import { createPrisma } from '@posthorn/core/prisma'
import { promoteDeliveries } from '@posthorn/core/sql'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>

/** A product's database with defaults of its own. */
beforeAll(async () => {
  database = await createTestDatabase()
  const owner = new pg.Client(database.url)
  await owner.connect()
  const name = new URL(database.url).pathname.slice(1)
  await owner.query(`alter database "${name}" set default_transaction_isolation = 'serializable'`)
  await owner.query(`alter database "${name}" set datestyle = 'German'`)
  await owner.query(`alter database "${name}" set timezone = 'America/New_York'`)
  await owner.end()
})

afterAll(() => database.drop())

test("the database's own defaults for isolation, dates and time zone change nothing for us", async () => {
  const pool = createPool({ connectionString: database.url, max: 1, applicationName: 'test', onError: () => undefined })
  const { rows } = await pool.query<{ isolation: string; at: Date; text: string; limit: string }>(
    `select current_setting('transaction_isolation') as isolation, timestamptz '2026-01-02 03:04:05Z' as at,
       (timestamptz '2026-01-02 03:04:05Z')::text as text, current_setting('statement_timeout') as limit`,
  )
  expect(rows[0]).toEqual({
    isolation: 'read committed',
    at: new Date('2026-01-02T03:04:05Z'),
    text: '2026-01-02 03:04:05+00',
    limit: '30s',
  })
  await expect(promoteDeliveries(pool, { due: '-infinity', settledMs: 0 }, 10)).resolves.toMatchObject({ count: 0 })
  await pool.end()
})

test('the control plane reads times and works at READ COMMITTED there too', async () => {
  const prisma = createPrisma(database.url, { max: 1 })
  const made = await prisma.tenant.create({ data: { id: 'acme', createdAt: new Date('2026-01-02T03:04:05.678Z') } })
  expect(made.createdAt).toEqual(new Date('2026-01-02T03:04:05.678Z'))
  const [row] = await prisma.$queryRaw<
    { isolation: string }[]
  >`select current_setting('transaction_isolation') as isolation`
  expect(row).toEqual({ isolation: 'read committed' })
  await prisma.$disconnect()
})
