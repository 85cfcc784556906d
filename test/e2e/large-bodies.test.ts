import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiAnswer, type Cluster, startCluster } from '../support/cluster.ts'
import { eventually } from '../support/wait.ts'

const connections = 20
const eventsEach = 15
const size = 1024 * 1024
/** With all of the bodies in memory at once it takes 450 and more. */
const enoughMiB = 350

let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster({ dispatchers: 0 })
})
afterAll(() => cluster?.stop())

function peakMiB(pid: number): number | null {
  if (process.platform !== 'linux') return null
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

test('more large bodies than fit into memory: some are told to come again, and in the end all are taken', async () => {
  const event = JSON.stringify({ type: 'large.one', payload: 'x'.repeat(size - 2) })
  const raw = `{"events":[${Array.from({ length: eventsEach }, () => event).join()}]}`
  const headers = { 'content-type': 'application/json' }
  const refusals: ApiAnswer[] = []

  async function publishUntilTaken(n: number): Promise<void> {
    await eventually(async () => {
      const answer = await cluster.call('POST', `/tenants/t${n}/events/batch`, { raw, headers })
      if (answer.status !== 202) refusals.push(answer)
      return answer.status === 202
    }, 90_000)
  }
  await Promise.all(Array.from({ length: connections }, (_, n) => publishUntilTaken(n)))

  const peak = peakMiB(cluster.api.pid)
  console.info('peak memory of the API, MiB:', peak, 'refusals:', refusals.length)
  expect(refusals.length).toBeGreaterThan(0)
  for (const { status, body, headers } of refusals) {
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'overloaded', '1'])
  }
  const { rows } = await cluster.pool.query(
    'select count(*)::integer as n, count(distinct tenant_id)::integer as tenants, max(octet_length(payload)) as bytes from posthorn.event',
  )
  expect(rows).toEqual([{ n: connections * eventsEach, tenants: connections, bytes: size }])
  if (peak !== null) expect(peak).toBeLessThan(enoughMiB)
})
