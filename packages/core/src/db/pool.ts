import pg from 'pg'
import { sessionSettings } from './session.ts'

export type Pool = pg.Pool
export type PoolClient = pg.PoolClient

/** Anything that runs a statement: a pool, a client, or a client inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>

export type PoolOptions = {
  connectionString: string
  /** Connections at most. */
  max: number
  /** Shown in pg_stat_activity. */
  applicationName: string
  /** Milliseconds after which the server gives a statement up. Default 30 000. */
  statementTimeoutMs?: number
  /** Milliseconds to wait for a connection. Default 5 000. */
  connectionTimeoutMs?: number
  /** Statements are planned by indexes alone: for the upkeep, whose tables may have grown since the planner last looked. */
  indexesOnly?: boolean
  /** Called with each fault of an idle connection: the pool replaces it by itself. */
  onError: (error: Error) => void
}

/** bigint comes as a string: tickets pass 2^53 only after centuries, but a rounded fence is no fence. */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // The server's own limit ends a slow statement; this one, a little later, ends the wait for a server that is gone.
    query_timeout: statementTimeoutMs + 5_000,
    onConnect: async (client) => {
      await client.query(sessionSettings(statementTimeoutMs, options.indexesOnly))
    },
    // Statements sent together share one round trip; each still has its own result or error.
    pipeline: true,
  })
  pool.on('error', (error) => {
    // What its connections meet while they close concerns nobody.
    if (!pool.ending) options.onError(error)
  })
  // A connection that breaks while it is lent out rejects its statements; its event must not end the process as well.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * What `send` sends goes out in one write. Each write wakes the server's process, which on a busy machine takes the core of
 * the one that writes: three statements sent in three writes made it wait three times.
 */
export function inOneWrite<T>(client: PoolClient, send: () => T): T {
  const { stream } = client.connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/**
 * The answers to statements that were sent together, once all are there: where one has failed, the transaction that they end has
 * ended, and its locks are gone. @throws the first fault; the later ones only say that the transaction is aborted
 */
export async function answersOf<T extends readonly unknown[]>(
  statements: readonly [...T],
): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const results = await Promise.allSettled(statements)
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as { [K in keyof T]: Awaited<T[K]> }
}

/** A connection of its own, outside any pool: LISTEN, advisory locks held by a session. */
export function createClient(connectionString: string, applicationName: string): pg.Client {
  return new pg.Client({
    connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
}

/**
 * Runs `work` in a READ COMMITTED transaction. Rolls back when it throws; a connection whose end is not known is closed
 * instead of being handed to somebody else.
 */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin isolation level read committed')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((fault: Error) => {
      broken = fault
    })
    throw error
  } finally {
    client.release(broken)
  }
}
