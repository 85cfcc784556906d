import type { Pool } from '../db/pool.ts'
import { type PublishRequest, type PublishResult, publishMany } from './event-publish.ts'

/** How long a publish waits for another transaction that has used one of its keys. */
export type KeyWait = 'none' | 'short' | 'long'

const begins: Record<KeyWait, string> = {
  none: 'begin isolation level read committed',
  short: `begin isolation level read committed; set local lock_timeout = '100ms'`,
  long: `begin isolation level read committed; set local lock_timeout = '2s'`,
}

/**
 * Publishes and commits, in one round trip and one transaction of its own.
 *
 * Invariant: it returns only once the server has said COMMIT. When it throws, nothing is written, unless the connection was
 * lost with the commit under way: then nobody can know.
 *
 * @throws what Postgres says; 55P03 when a key was waited for too long
 */
export async function publishAndCommit(
  pool: Pool,
  requests: readonly PublishRequest[],
  keyWait: KeyWait,
): Promise<PublishResult[]> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    // Sent together. Where one fails, the server skips none of the others, but makes the commit a rollback.
    const [begun, published, ended] = await Promise.allSettled([
      client.query(begins[keyWait]),
      publishMany(client, requests),
      client.query('commit'),
    ])
    for (const part of [begun, ended]) {
      if (part.status === 'rejected') broken = part.reason as Error
    }
    if (published.status === 'rejected') throw published.reason
    if (broken !== undefined) throw broken
    if (ended.status !== 'fulfilled' || ended.value.command !== 'COMMIT') throw new Error('publish: not committed')
    return published.value
  } finally {
    client.release(broken)
  }
}
