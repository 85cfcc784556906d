import { invalidArgument } from '../errors.ts'
import { checkIdempotencyKey, deliverAtText, type PublishEvent, payloadText } from './event.ts'
import { publishFailure } from './sql-error.ts'
import { firstRow, type Transaction } from './transaction.ts'

export type TransactionPublishOptions = {
  /**
   * 1 to 255 characters of printable ASCII: the same content under it again answers the first event's id. A key that another
   * open transaction has used is waited for.
   */
  idempotencyKey?: string
}

// All values are text, which every library hands over as it is; the server reads them.
const publishOne = `select posthorn.publish($1::text, $2::text, $3::text, $4::text, \
(select array_agg(name) from jsonb_array_elements_text($5::text::jsonb) name), $6::text, $7::text::timestamptz) as id`

const publishMany = `select array_to_string(posthorn.publish_batch($1::text, \
(select array_agg(e->>'type' order by o) from jsonb_array_elements($2::text::jsonb) with ordinality u(e, o)), \
(select array_agg(e->>'payload' order by o) from jsonb_array_elements($2::text::jsonb) with ordinality u(e, o)), $3::text, \
(select jsonb_agg(e->'channels' order by o) from jsonb_array_elements($2::text::jsonb) with ordinality u(e, o)), \
(select array_agg(e->>'ordering_key' order by o) from jsonb_array_elements($2::text::jsonb) with ordinality u(e, o)), \
(select array_agg((e->>'deliver_at')::timestamptz order by o) \
from jsonb_array_elements($2::text::jsonb) with ordinality u(e, o))), ' ') as ids`

/**
 * Publishes an event in your own transaction: rolled back, it never happened; committed, it is owed and sent.
 *
 * Cost: one statement, and no lock that anybody waits for, but for the idempotency key (see docs/publishing.md). No NOTIFY: the
 * dispatchers find it within about a quarter of a second of the commit.
 *
 * @param tx the transaction: a `pg` client that has begun, the `tx` of Prisma's `$transaction` or Drizzle's `transaction`,
 *   Kysely's `trx`, the `sql` of postgres.js' `begin`, or a TypeORM query runner or transactional entity manager
 * @returns the event's id, `evt_...`
 * @throws PosthornError with `code` and `path`; the transaction is then aborted, as after any error of Postgres
 */
export async function publish(
  tx: Transaction,
  tenant: string,
  event: PublishEvent,
  options: TransactionPublishOptions = {},
): Promise<string> {
  const { idempotencyKey = null } = options
  if (idempotencyKey !== null) checkIdempotencyKey(idempotencyKey)
  const channels = event.channels ? JSON.stringify(event.channels) : null
  const key = event.ordering_key ?? null
  const values = [tenant, event.type, storable(payloadText(event)), idempotencyKey, channels, key, deliverAtText(event)]
  const row = await attempt(() => firstRow(tx, publishOne, values))
  return (row as { id: string }).id
}

/** Publishes up to 1,000 events, 16 MiB in all, in one statement of your own transaction. @returns their ids, in order */
export async function publishBatch(
  tx: Transaction,
  tenant: string,
  events: readonly PublishEvent[],
  options: TransactionPublishOptions = {},
): Promise<string[]> {
  const { idempotencyKey = null } = options
  if (idempotencyKey !== null) checkIdempotencyKey(idempotencyKey)
  const list = events.map((event, place) => ({
    type: event.type,
    payload: storable(payloadText(event, `/events/${place}`), `/events/${place}`),
    channels: event.channels ?? null,
    ordering_key: event.ordering_key ?? null,
    deliver_at: deliverAtText(event, `/events/${place}`),
  }))
  const row = await attempt(() => firstRow(tx, publishMany, [tenant, JSON.stringify(list), idempotencyKey]))
  return (row as { ids: string }).ids.split(' ')
}

async function attempt<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement()
  } catch (error) {
    throw publishFailure(error)
  }
}

/** Postgres has no text with this character, which JSON may hold only as an escape. */
function storable(text: string, at = ''): string {
  if (text.includes('\0'))
    throw invalidArgument(`${at}/payload_json`, 'has a NUL character, which JSON writes as \\u0000')
  return text
}
