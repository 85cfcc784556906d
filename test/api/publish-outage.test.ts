import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/wait.ts'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

/** A road to the database that can be cut. */
type Road = { url: string; cut(): void; mend(): void; close(): Promise<void> }

async function startRoad(databaseUrl: string): Promise<Road> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isCut = false
  const server: Server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
      socket.pipe(other)
    }
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' ? address?.port : '')
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut() {
      isCut = true
      destroyAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

let database: TestDatabase
let road: Road
let api: ApiUnderTest
beforeAll(async () => {
  database = await createTestDatabase()
  road = await startRoad(database.url)
  api = await startApiUnderTest({ databaseUrl: road.url })
})
afterAll(async () => {
  road.mend()
  await api.stop()
  await road.close()
  await database.drop()
})

const path = '/v1/tenants/acme/events'
const publish = (key: string | null, n = 0): Promise<Answer> =>
  api.call('POST', path, { json: { type: 'a', payload: n }, headers: key === null ? {} : { 'idempotency-key': key } })

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({ status: 503, body: { code: 'database_unavailable' } })
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
}

test('without a database every route is a 503 in time, and the process goes on when it is back', async () => {
  expect((await publish(null)).status).toBe(202)
  road.cut()
  const event = 'evt_01h455vb4pex5vsknk084sn02q'
  const endpoint = 'ep_01h455vb4pex5vsknk084sn02q'
  for (const [method, route, json] of [
    ['POST', path, { type: 'a', payload: 1 }],
    ['POST', `${path}/batch`, { events: [{ type: 'a', payload: 1 }] }],
    ['GET', path],
    ['GET', `${path}/${event}`],
    ['GET', `${path}/${event}/payload`],
    ['GET', `${path}/${event}/deliveries`],
    ['GET', `${path}/${event}/deliveries/${endpoint}`],
    ['GET', `${path}/${event}/deliveries/${endpoint}/attempts`],
    ['POST', `${path}/${event}/deliveries/${endpoint}/redeliver`],
    ['POST', `${path}/${event}/deliveries/${endpoint}/cancel`],
    ['GET', '/v1/tenants/acme/deliveries'],
    ['POST', `/v1/tenants/acme/endpoints/${endpoint}/test`],
  ] as const) {
    expectUnavailable(await api.call(method, route, json === undefined ? {} : { json }))
  }
  expectUnavailable(await publish('k'))
  road.mend()
  await eventually(async () => (await publish('k')).status === 202, 10_000)
})

test('cut in the middle, what was answered 202 is there, and the rest can be sent again under its key', async () => {
  const accepted: string[] = []
  let sent = 0
  let refused = 0
  const producer = async (mine: number) => {
    for (let n = 0; n < 15; n++) {
      const key = `${mine}-${n}`
      for (;;) {
        const answer = await publish(key, n)
        if (++sent === 40) road.cut()
        if (answer.status === 202) {
          accepted.push(String(answer.body['id']))
          break
        }
        expectUnavailable(answer)
        if (++refused === 20) road.mend()
      }
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, n) => producer(n)))
  expect(refused).toBeGreaterThanOrEqual(20)
  expect(new Set(accepted).size).toBe(150)
  const { rows } = await api.pool.query<{ id: string }>(
    `select posthorn.type_id('evt', id) as id from posthorn.event where id = any(
       select unnest(event_ids) from posthorn.idempotency_key where key like '%-%')`,
  )
  expect(rows.map((row) => row.id).sort()).toEqual([...accepted].sort())
})
