import type { Pool } from '../db/pool.ts'
import { before } from './event-bounds.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

// Walks the primary key from the top, partition by partition, and stops after so many; without sorting, or it would read all.
const walkText = `
select e.id as "id", e.type as "type", octet_length(e.payload) as "bytes"
from posthorn.event e where e.id <= $1::uuid order by e.id desc limit $2`

// What a deleted tenant has left is gone for whoever reads.
const payloadsText = `
select e.id as "id", e.tenant_id as "tenantId", e.payload as "payload"
from posthorn.event e
where e.id = any($1::uuid[]) and e.id >= $2::uuid and e.id <= $3::uuid
  and not exists (
    select from posthorn.job j
    where j.tenant_id = e.tenant_id and j.kind = 'delete_tenant' and j.status = 'running' and e.id < (j.input ->> 'below')::uuid
  )
order by e.id desc`

const beginWalk = `${beginGuarded}; set local enable_sort = off`

export type PublishedPayload = { id: string; tenantId: string; payload: Buffer }

type Found = { id: string; type: string; bytes: number }

const examinedAtOnce = 2_000
const maxExamined = 100_000
/** Payloads are read so many, and so many bytes, at a time; one that is larger comes by itself. */
const payloadsAtOnce = 100
const bytesAtOnce = 4 * 1024 * 1024

/**
 * The newest events of a type, over all tenants, newest first, some at a time. There is no index by type: it looks at the newest
 * 100,000 events of all types at most.
 * @returns whether it has looked at all there are
 */
export async function* walkEventsOfType(
  pool: Pool,
  type: string,
): AsyncGenerator<PublishedPayload[], { all: boolean }, undefined> {
  let high = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  for (let examined = 0; examined < maxExamined; examined += examinedAtOnce) {
    const rows = await pipelinedTransaction(pool, beginWalk, async (client) => {
      const values = [high, examinedAtOnce]
      return (await client.query<Found>({ name: 'event-type-walk', text: walkText, values })).rows
    })
    for (const group of inGroups(rows.filter((row) => row.type === type))) yield await readPayloads(pool, group)
    const last = rows.at(-1)
    if (last === undefined || rows.length < examinedAtOnce) return { all: true }
    high = before(last.id)
  }
  return { all: false }
}

function* inGroups(found: readonly Found[]): Generator<string[]> {
  let group: string[] = []
  let bytes = 0
  for (const each of found) {
    if (group.length === payloadsAtOnce || (group.length > 0 && bytes + each.bytes > bytesAtOnce)) {
      yield group
      group = []
      bytes = 0
    }
    group.push(each.id)
    bytes += each.bytes
  }
  if (group.length > 0) yield group
}

function readPayloads(pool: Pool, ids: readonly string[]): Promise<PublishedPayload[]> {
  return pipelinedTransaction(pool, beginGuarded, async (client) => {
    const { rows } = await client.query<PublishedPayload>({
      name: 'event-type-payloads',
      text: payloadsText,
      values: [ids, ids.at(-1), ids[0]],
    })
    return rows
  })
}
