import type { Pool } from '../db/pool.ts'
import { type PublishRequest, type PublishResult, publishMany } from './event-publish.ts'
import { pipelinedTransaction } from './pipelined-transaction.ts'

/** How long a publish waits for another transaction that has used one of its keys. */
export type KeyWait = 'none' | 'short' | 'long'

const begins: Record<KeyWait, string> = {
  none: 'begin isolation level read committed',
  short: `begin isolation level read committed; set local lock_timeout = '100ms'`,
  long: `begin isolation level read committed; set local lock_timeout = '2s'`,
}

/**
 * Publishes and commits, in one round trip and one transaction of its own; see `pipelinedTransaction`.
 * @throws what Postgres says; 55P03 when a key was waited for too long
 */
export function publishAndCommit(
  pool: Pool,
  requests: readonly PublishRequest[],
  keyWait: KeyWait,
): Promise<PublishResult[]> {
  return pipelinedTransaction(pool, begins[keyWait], (client) => publishMany(client, requests))
}
