import type { Pool, PoolClient } from '../db/pool.ts'

/**
 * Runs several statements, each with what the former ones answered, in one transaction. Rolls back when `work` throws; a
 * connection whose end is not known is closed.
 *
 * @param begin opens the transaction, with its isolation and its settings
 */
export async function guardedTransaction<T>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(begin)
    const result = await work(client)
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error('the server did not commit')
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
