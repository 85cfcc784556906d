import { createHash } from 'node:crypto'
import { encodeId } from '@posthorn/core'
import type pg from 'pg'
import type { Receiver } from '../measure/raw-posts.ts'
import { payload } from '../stage/payload.ts'
import type { Seeded } from '../stage/seed.ts'

/**
 * A rate counts only if the work was done: every delivery received exactly once and whole, none left, every attempt
 * logged, and the log of attempts and the receiver's own the same, line by line.
 * @throws with all that is not so
 */
export async function checkDrain(
  observer: pg.Client,
  receiver: Receiver,
  endpoints: readonly Seeded[],
  deliveries: number,
): Promise<void> {
  const got = await receiver.worker.call('summary', undefined, 60_000)
  const owed = await observer.query<{ n: string }>('select count(*) as n from posthorn.delivery')
  const attempts = await observer.query<[string, string, number, number]>({
    text: 'select a.event_id, a.endpoint_id, a.outcome, a.state from posthorn.attempt a',
    rowMode: 'array',
  })
  const paths = new Map(endpoints.map(({ id, url }) => [id, new URL(url).pathname]))
  const lines = attempts.rows.map(([event, endpoint]) => `${encodeId('evt', event)} ${paths.get(endpoint)}`).sort()
  const digest = createHash('sha256').update(lines.join('\n')).digest('hex')
  const unsuccessful = attempts.rows.filter(([, , outcome, state]) => outcome !== 1 || state !== 4).length

  const faults: string[] = []
  const expect = (what: string, is: number, wanted: number): void => {
    if (is !== wanted) faults.push(`${what}: ${is}, and not ${wanted}`)
  }
  expect('webhooks received', got.webhooks, deliveries)
  expect('different deliveries received', got.distinct, deliveries)
  expect('bytes of bodies received', got.bodyBytes, deliveries * payload.length)
  expect('deliveries still owed', Number(owed.rows[0]?.n), 0)
  expect('attempts logged', attempts.rows.length, deliveries)
  expect('attempts that did not end as succeeded', unsuccessful, 0)
  if (faults.length === 0 && digest !== got.digest) faults.push('the attempts logged are not those received')
  if (faults.length > 0) throw new Error(`the drain was not done right: ${faults.join('; ')}`)
}
