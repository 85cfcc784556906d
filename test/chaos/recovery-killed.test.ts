import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { webhookId } from '../support/webhooks.ts'

/* Jobs whose dispatchers are killed: a recovery, and the deletion of a tenant under traffic. */

const count = 20_000
let recovering: Cluster
let deleting: Cluster
let receiver: Receiver
let other: Receiver

beforeAll(async () => {
  receiver = await startReceiver({ keepBodies: false })
  other = await startReceiver({ keepBodies: false })
  recovering = await startCluster({ dispatchers: 2 })
  deleting = await startCluster({ dispatchers: 2 })
})

afterAll(async () => {
  await Promise.all([recovering?.stop(), deleting?.stop()])
  await Promise.all([receiver?.close(), other?.close()])
})

async function kill(cluster: Cluster): Promise<number> {
  const victims = cluster.dispatchers.splice(0)
  for (const victim of victims) victim.signal('SIGKILL')
  await Promise.all(victims.map((victim) => victim.exited))
  let leased = 0
  for (const victim of victims) leased += (await cluster.leasedTo(victim)).length
  return leased
}

describe.concurrent('every dispatcher is killed', () => {
  test('in the middle of a recovery, twice: each event is owed once, and comes', async () => {
    const tenant = 'recovered'
    const { id: endpoint } = await recovering.makeEndpoint(tenant, {
      url: `${receiver.url}/`,
      status: 'disabled',
      max_in_flight: 200,
    })
    const since = new Date(Date.now() - 1_000).toISOString()
    const ids = await recovering.publishAll(
      tenant,
      Array.from({ length: count }, (_, n) => ({ type: 'a.b', payload: String(n) })),
    )
    await recovering.patchEndpoint(tenant, endpoint, { status: 'enabled' })
    const path = `/tenants/${tenant}/endpoints/${endpoint}/recover`
    const dry = await recovering.call('POST', path, { json: { since, dry_run: true } })
    expect(dry.body).toMatchObject({ total: count, missed: count })
    const { status, body } = await recovering.call('POST', path, { json: { since } })
    expect(status).toBe(202)

    const job = async () => (await recovering.call('GET', `/jobs/${body.id}`)).body
    let mayDouble = 0
    let cut = 0
    for (let turn = 0; turn < 2; turn++) {
      const before = (await job()).done
      await eventually(async () => {
        const { done, status } = await job()
        return done > before || status !== 'running'
      }, 15_000)
      mayDouble += await kill(recovering)
      const { done, status } = await job()
      if (status === 'running' && done > 0 && done < count) cut++
      await Promise.all([recovering.startDispatcher(), recovering.startDispatcher()])
    }
    // Without these, the test would show nothing.
    expect(cut).toBeGreaterThan(0)

    await eventually(async () => (await job()).status !== 'running', 20_000)
    expect(await job()).toMatchObject({ status: 'done', total: count, done: count })
    await recovering.drained(60_000)
    const came = receiver.requests.map(webhookId)
    expect(new Set(came)).toEqual(new Set(ids))
    expect(came.length - count).toBeLessThanOrEqual(mayDouble)
    const { rows } = await recovering.pool.query<{ n: number }>(
      `select count(*)::int as n from (
         select event_id from posthorn.attempt where state = 4 and outcome = 1 group by event_id having count(*) = 1
       ) x`,
    )
    expect(rows[0]!.n).toBe(count)
  })

  test('while a tenant is deleted under traffic: all of it goes, and nothing of the others', async () => {
    const made = await deleting.makeEndpoint('gone', { url: `${other.url}/gone` })
    await deleting.makeEndpoint('stays', { url: `${other.url}/stays` })
    const ids = { gone: [] as string[], stays: [] as string[] }
    let publishing = true
    const publishTo = async (tenant: 'gone' | 'stays'): Promise<void> => {
      while (publishing) {
        const events = Array.from({ length: 20 }, (_, n) => ({ type: 'a.b', payload: String(n) }))
        ids[tenant].push(...(await deleting.publishAll(tenant, events)))
      }
    }
    const publishers = [publishTo('gone'), publishTo('stays')]
    await eventually(() => ids.gone.length >= 1_500 && ids.stays.length >= 500, 30_000)
    // What was accepted before is the deleted tenant's, what is asked for after the answer the new one's; between the
    // two it may be either's.
    const before = ids.gone.length
    const { status, body } = await deleting.call('DELETE', '/tenants/gone')
    expect(status).toBe(202)
    const answered = ids.gone.length
    expect((await deleting.call('GET', `/tenants/gone/events/${ids.gone[0]}`)).status).toBe(404)
    await sleep(300)
    await kill(deleting)
    await Promise.all([deleting.startDispatcher(), deleting.startDispatcher()])
    await sleep(500)
    publishing = false
    await Promise.all(publishers)
    // The publish under way at the answer was one batch.
    const later = ids.gone.slice(answered + 20)
    expect(later.length).toBeGreaterThan(0)

    const job = async () => (await deleting.call('GET', `/jobs/${body.id}`)).body
    await eventually(async () => (await job()).status === 'done', 60_000)
    expect((await job()).done).toBeGreaterThanOrEqual(before)
    await deleting.drained(90_000)
    const { rows } = await deleting.pool.query<{ id: string; deliveries: number }>(
      `select posthorn.type_id('evt', id) as id, deliveries from posthorn.event where tenant_id = 'gone' order by id`,
    )
    const left = new Set(rows.map((row) => row.id))
    expect(ids.gone.slice(0, before).filter((id) => left.has(id))).toEqual([])
    expect(later.filter((id) => !left.has(id))).toEqual([])
    const { rows: attempts } = await deleting.pool.query(
      `select from posthorn.attempt a where not exists (select from posthorn.event e where e.id = a.event_id)`,
    )
    expect(attempts).toEqual([])
    expect((await deleting.call('GET', `/tenants/gone/endpoints/${made.id}`)).status).toBe(404)
    const stays = new Set(other.requests.filter((request) => request.path === '/stays').map(webhookId))
    expect(stays).toEqual(new Set(ids.stays))
  })
})
