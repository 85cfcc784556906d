import type { Transaction } from '@posthorn/client'
import { createPrisma } from '@posthorn/core/prisma'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { DataSource } from 'typeorm'

/** A statement of the product's own, in the transaction that publishes. */
export type Statement = (text: string) => Promise<unknown>

export type Connected = {
  /** Runs `work` in a transaction of the library: commits when it resolves, rolls back when it rejects. */
  transact<T>(work: (tx: Transaction, statement: Statement) => Promise<T>): Promise<T>
  /** What looks like a transaction of the library and is none. */
  outside: Record<string, unknown>
  close(): Promise<unknown>
}

/** Each library that `publish` knows, as its own documentation has it. */
export const libraries: Record<string, (url: string) => Promise<Connected>> = {
  async pg(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    pool.on('error', () => {})
    return {
      async transact(work) {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const result = await work(client, (text) => client.query(text))
          await client.query('commit')
          return result
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
      outside: { 'the pool': pool },
      close: () => pool.end(),
    }
  },

  async Prisma(url) {
    const prisma = createPrisma(url, { max: 1 })
    return {
      transact: (work) =>
        prisma.$transaction((tx) => work(tx, (text) => tx.$executeRawUnsafe(text)), { timeout: 60_000 }),
      outside: { 'the client': prisma },
      close: () => prisma.$disconnect(),
    }
  },

  async 'Drizzle on pg'(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const db = drizzlePg(pool)
    return {
      transact: (work) => db.transaction((tx) => work(tx, (text) => tx.execute(drizzleSql.raw(text)))),
      outside: { db },
      close: () => pool.end(),
    }
  },

  async 'Drizzle on postgres.js'(url) {
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    const db = drizzlePostgresJs(sql)
    return {
      transact: (work) => db.transaction((tx) => work(tx, (text) => tx.execute(drizzleSql.raw(text)))),
      outside: { db },
      close: () => sql.end(),
    }
  },

  async Kysely(url) {
    const db = new Kysely<object>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) }),
    })
    return {
      transact: (work) =>
        db.transaction().execute((trx) => work(trx, (text) => trx.executeQuery(CompiledQuery.raw(text)))),
      outside: { db },
      close: () => db.destroy(),
    }
  },

  async 'postgres.js'(url) {
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    return {
      transact: (work) => sql.begin((tx) => work(tx, (text) => tx.unsafe(text))) as ReturnType<typeof work>,
      outside: { 'the outer sql': sql },
      close: () => sql.end(),
    }
  },

  async 'TypeORM query runner'(url) {
    const source = await new DataSource({ type: 'postgres', url, poolSize: 1 }).initialize()
    return {
      async transact(work) {
        const runner = source.createQueryRunner()
        try {
          await runner.startTransaction()
          const result = await work(runner, (text) => runner.query(text))
          await runner.commitTransaction()
          return result
        } catch (error) {
          await runner.rollbackTransaction()
          throw error
        } finally {
          await runner.release()
        }
      },
      outside: {
        'the data source': source,
        'its manager': source.manager,
        'a runner without a transaction': source.createQueryRunner(),
      },
      close: () => source.destroy(),
    }
  },

  async 'TypeORM transactional manager'(url) {
    const source = await new DataSource({ type: 'postgres', url, poolSize: 1 }).initialize()
    return {
      transact: (work) => source.transaction((manager) => work(manager, (text) => manager.query(text))),
      outside: {},
      close: () => source.destroy(),
    }
  },
}
