import { decodeId, uuidV7 } from '@posthorn/core'
import { cancelAtClosedLane, finishLaneDrain, readDrainingLanes, readJob, workOnJob } from '@posthorn/core/sql'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { log, paceOf } from '../sql/job-fixture.ts'
import { eventually } from '../support/wait.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

async function fill(tenant: string, events = 3): Promise<{ endpoint: string; ids: string[] }> {
  const made = await api.call('POST', `/v1/tenants/${tenant}/endpoints`, {
    json: { url: 'http://127.0.0.1:1/', uid: 'mine', headers: { 'x-key': 'v' } },
  })
  const ids: string[] = []
  for (let at = 0; at < events; at++) {
    const answer = await api.call('POST', `/v1/tenants/${tenant}/events`, {
      json: { type: 'a.b', payload: at },
      headers: { 'idempotency-key': `key-${at}` },
    })
    ids.push(answer.body.id)
  }
  return { endpoint: made.body.id, ids }
}

/** As a dispatcher's upkeep does, until the job waits for others or has ended. */
async function round(job: string): Promise<string> {
  for (;;) {
    for (const lane of await readDrainingLanes(api.pool, 100)) {
      await cancelAtClosedLane(api.pool, lane, 500)
      await finishLaneDrain(api.pool, lane)
    }
    const step = await workOnJob(api.pool, paceOf(2))
    const { status } = (await readJob(api.pool, decodeId('job', job)!, null))!
    if (status !== 'running' || step === null || step.status === 'waiting') return status
  }
}

/** Until it has ended. Transactions in other databases of the server are waited for as well. */
async function ended(job: string): Promise<string> {
  return eventually(async () => {
    const status = await round(job)
    return status !== 'running' && status
  }, 15_000)
}

async function rowsOf(tenant: string): Promise<Record<string, number>> {
  const { rows } = await api.pool.query<Record<string, number>>(
    `select
       (select count(*) from posthorn.tenant where id = $1)::int as tenant,
       (select count(*) from posthorn.endpoint where tenant_id = $1)::int as endpoint,
       (select count(*) from posthorn.endpoint_secret s join posthorn.lane l using (endpoint_id) where l.tenant_id = $1)::int as secret,
       (select count(*) from posthorn.event where tenant_id = $1)::int as event,
       (select count(*) from posthorn.attempt a join posthorn.lane l using (endpoint_id) where l.tenant_id = $1)::int as attempt,
       (select count(*) from posthorn.delivery d join posthorn.lane l using (endpoint_id) where l.tenant_id = $1)::int as delivery,
       (select count(*) from posthorn.idempotency_key where tenant_id = $1)::int as key,
       (select count(*) from posthorn.api_key where tenant_id = $1)::int as token`,
    [tenant],
  )
  return rows[0]!
}

const nothing = { tenant: 0, endpoint: 0, secret: 0, event: 0, attempt: 0, delivery: 0, key: 0, token: 0 }
const day = { since: new Date(Date.now() - 3_600_000).toISOString() }

test('a deleted tenant is not found at once, nor anything of it, and all of it goes; others keep theirs', async () => {
  const { endpoint, ids } = await fill('acme', 5)
  const other = await fill('other')
  const former = await rowsOf('other')
  const token = await api.makeToken('tenant', 'acme')
  await log(api.pool, decodeId('ep', endpoint)!, [decodeId('evt', ids[0]!)!], {})
  const early = (await api.call('POST', `/v1/tenants/acme/endpoints`, { json: { url: 'http://127.0.0.1:1/' } })).body.id
  await api.call('DELETE', `/v1/tenants/acme/endpoints/${early}`)
  const recovery = await api.call('POST', `/v1/tenants/acme/endpoints/${endpoint}/recover`, { json: day })

  const answer = await api.call('DELETE', '/v1/tenants/acme')
  expect(answer).toMatchObject({
    status: 202,
    body: { kind: 'delete_tenant', tenant_id: 'acme', endpoint_id: null, status: 'running', done: 0, error: null },
  })
  const at = '/v1/tenants/acme'
  const delivery = `${at}/events/${ids[0]}/deliveries/${endpoint}`
  for (const [method, path] of [
    ['GET', at],
    ['DELETE', at],
    ['GET', `${at}/endpoints/${endpoint}`],
    ['GET', `${at}/endpoints/mine`],
    ['GET', `${at}/endpoints/${endpoint}/stats`],
    ['GET', `${at}/events/${ids[0]}`],
    ['GET', `${at}/events/${ids[0]}/payload`],
    ['GET', `${at}/events/${ids[0]}/deliveries`],
    ['GET', delivery],
    ['GET', `${delivery}/attempts`],
    ['POST', `${delivery}/redeliver`],
    ['POST', `${delivery}/cancel`],
  ] as const) {
    expect({ path, status: (await api.call(method, path)).status }).toEqual({ path, status: 404 })
  }
  for (const list of ['endpoints', 'events', 'deliveries', `events?since=${day.since}`]) {
    expect((await api.call('GET', `${at}/${list}`)).body).toEqual({ data: [], next_cursor: null })
  }
  expect((await api.call('GET', at, { token })).status).toBe(401)
  expect((await api.call('GET', '/v1/tenants')).body.data.map((tenant: { id: string }) => tenant.id)).toEqual(['other'])

  expect(await ended(answer.body.id)).toBe('done')
  expect(await rowsOf('acme')).toEqual(nothing)
  expect(
    (await api.pool.query('select from posthorn.attempt where event_id = $1', [decodeId('evt', ids[0]!)])).rows,
  ).toEqual([])
  expect((await api.call('GET', `/v1/jobs/${answer.body.id}`)).body).toMatchObject({ status: 'done', done: 5 })
  expect((await api.call('GET', `/v1/jobs/${recovery.body.id}`)).status).toBe(404)
  for (const path of [at, `${at}/events/${ids[0]}`, `${at}/endpoints/${endpoint}`]) {
    expect((await api.call('GET', path)).status).toBe(404)
  }
  expect(await rowsOf('other')).toEqual(former)
  expect((await api.call('GET', `/v1/tenants/other/events/${other.ids[0]}`)).status).toBe(200)
})

test('a tenant of the same name that is made meanwhile keeps all that it has', async () => {
  const { endpoint: old, ids } = await fill('again')
  const { body: job } = await api.call('DELETE', '/v1/tenants/again')
  const { endpoint } = await fill('again', 0)
  const published = await api.call('POST', '/v1/tenants/again/events', { json: { type: 'a.b', payload: 1 } })
  expect(published.body.deliveries).toBe(1)
  const shown = async (): Promise<void> => {
    const events = await api.call('GET', '/v1/tenants/again/events')
    expect(events.body.data.map((event: { id: string }) => event.id)).toEqual([published.body.id])
    const deliveries = await api.call('GET', '/v1/tenants/again/deliveries')
    expect(deliveries.body.data).toMatchObject([{ event_id: published.body.id, endpoint_id: endpoint }])
    expect((await api.call('GET', `/v1/tenants/again/events/${ids[0]}`)).status).toBe(404)
    expect((await api.call('GET', `/v1/tenants/again/events/${published.body.id}`)).status).toBe(200)
    expect((await api.call('GET', '/v1/tenants/again')).status).toBe(200)
  }
  await shown()
  expect(await ended(job.id)).toBe('done')
  await shown()
  expect(await rowsOf('again')).toMatchObject({ tenant: 1, endpoint: 1, secret: 1, event: 1, delivery: 1 })
  expect((await api.call('GET', `/v1/tenants/again/endpoints/${old}`)).status).toBe(404)
})

test('what is in flight is waited for, and so is every transaction that may still publish', async () => {
  const { endpoint, ids } = await fill('busy')
  await api.pool.query(
    `update posthorn.delivery set state = 1, ticket = nextval('posthorn.ticket'), lease_expires_at = now() + interval '1 minute'
     where event_id = $1`,
    [decodeId('evt', ids[0]!)],
  )
  const product = await api.pool.connect()
  onTestFinished(() => product.release())
  await product.query('begin')
  const { rows } = await product.query<{ id: string }>(`select posthorn.publish('busy', 'a.b', '{}') as id`)
  const { body: job } = await api.call('DELETE', '/v1/tenants/busy')
  expect(await round(job.id)).toBe('running')
  await product.query('commit')
  // Published before, committed after: it went with the rest, and is not shown.
  expect((await api.call('GET', `/v1/tenants/busy/events/${rows[0]!.id}`)).status).toBe(404)
  expect((await api.call('GET', '/v1/tenants/busy')).status).toBe(404)
  expect(await round(job.id)).toBe('running')
  expect((await rowsOf('busy'))['event']).toBe(4)
  // The lease's settle.
  await api.pool.query('delete from posthorn.delivery where event_id = $1', [decodeId('evt', ids[0]!)])
  await log(api.pool, decodeId('ep', endpoint)!, [decodeId('evt', ids[0]!)!], { state: 4, outcome: 1 })
  expect(await ended(job.id)).toBe('done')
  expect(await rowsOf('busy')).toEqual(nothing)
})

test('what a snapshot from before owes to a deleted endpoint is canceled, even after the job has ended', async () => {
  const { endpoint } = await fill('late', 1)
  const product = await api.pool.connect()
  onTestFinished(() => product.release())
  await product.query('begin isolation level repeatable read')
  await product.query('select from posthorn.endpoint limit 1')
  const { body: job } = await api.call('DELETE', '/v1/tenants/late')
  expect(await ended(job.id)).toBe('done')
  await product.query(`select posthorn.publish('late', 'a.b', '{}')`)
  await product.query('commit')
  await api.pool.query('update posthorn.lane set draining = true where endpoint_id = $1 and status = 3', [
    decodeId('ep', endpoint),
  ])
  await round(job.id)
  expect(await rowsOf('late')).toMatchObject({ delivery: 0, endpoint: 0 })
})

test('it cannot be stopped, and only operators may begin it', async () => {
  await fill('kept')
  const token = await api.makeToken('tenant', 'kept')
  expect((await api.call('DELETE', '/v1/tenants/kept', { token })).status).toBe(403)
  expect((await api.call('GET', '/v1/tenants/kept', { token })).status).toBe(200)
  const { body: job } = await api.call('DELETE', '/v1/tenants/kept')
  expect(await api.call('DELETE', `/v1/jobs/${job.id}`)).toMatchObject({
    status: 409,
    body: { code: 'state_conflict' },
  })
  expect(await ended(job.id)).toBe('done')
})

test('who is no tenant is not found: unknown, malformed, or reserved', async () => {
  await api.call('POST', '/v1/tenants/posthorn/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
  for (const id of ['nobody', 'a%20b', '.x', 'posthorn', uuidV7().repeat(4)]) {
    expect(await api.call('DELETE', `/v1/tenants/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  }
})

test('a tenant with events and no row is one', async () => {
  await api.pool.query(`select posthorn.publish('ghost', 'a.b', '{}')`)
  await api.pool.query(`delete from posthorn.tenant where id = 'ghost'`)
  const { status, body } = await api.call('DELETE', '/v1/tenants/ghost')
  expect(status).toBe(202)
  expect(await ended(body.id)).toBe('done')
  expect(await rowsOf('ghost')).toEqual(nothing)
})
